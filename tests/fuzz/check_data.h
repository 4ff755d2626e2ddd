// What must hold for every file that is read as data.
#pragma once

#include <string>
#include <string_view>

namespace traind::fuzzing {

// Each aborts, saying why on stderr, if it does not hold.

// A line: where the strict JSON reader finds an object with the field as a string, so does the line's reader,
// with the same text; where the line's reader finds one, the line is JSON; a problem lies inside the line.
// And all of `bytes` as a file gives the same documents and error in one piece and in pieces of `piece`
// bytes.
void CheckJsonl(std::string_view bytes, size_t piece);

// An index over tokens of 2 bytes: refused by a data error, or every token is read, each below the
// vocabulary.
void CheckMegatron(const std::string& index, const std::string& tokens);

// A shard: the same.
void CheckLlmc(const std::string& shard);

}  // namespace traind::fuzzing
