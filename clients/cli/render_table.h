// Formats in which columns stand below one another.
#pragma once

#include <memory>
#include <string>

#include "clients/cli/render.h"

namespace traind::cli {

enum class TableStyle { kPlain, kBox, kMarkdown, kLine };

std::unique_ptr<Renderer> MakeTableRenderer(TableStyle style, const RenderOptions& options, std::string* out);

}  // namespace traind::cli
