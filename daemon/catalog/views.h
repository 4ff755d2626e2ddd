// The sys_ views: what users see of the catalog. Their columns are a promise of the language.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace traind::daemon {

struct View {
  std::string_view name;
  std::string_view columns;  // in the order of the promise
  std::string_view select;   // yields exactly those, under those names
};

std::span<const View> AllViews();

// The statements that make a reader's temporary tables (live devices and settings) and its views. Each view
// is made of an inner one whose name begins with `inner_prefix`; only inner views may read raw tables, so a
// user's common table expression that calls itself sys_jobs gains nothing.
std::string ViewScript(std::string_view inner_prefix);

}  // namespace traind::daemon
