// Token files: a data set's tokens as one memory-mapped array, written once under a name made of its content.
//
// <cache directory>/<key>.tokens, little-endian, in the order in which it is written:
//   64 bytes   magic, version, token width
//   tokens     1, 2 or 4 bytes each, unsigned
//   table      JSON: for each source file its path, size, time, checksum, documents and first token
//   64 bytes   tokens, documents, bytes of text, bytes of the table, largest token
//   32 bytes   XXH3-128 of all before, in hexadecimal
// All of it is verified when the file is opened; a damaged one is only a cache and is made again.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/base/checksum.h"
#include "engine/base/io.h"
#include "engine/base/status.h"
#include "engine/data/tokenizer.h"

namespace traind::data {

inline constexpr uint32_t kTokenFileVersion = 2;

// A file that tokens come from.
struct TokenizedFile {
  std::string path;  // when it was tokenised
  int64_t bytes = 0;
  int64_t modified_ns = 0;
  std::string checksum;  // of its content
  int64_t documents = 0;
  int64_t token_begin = 0;  // the first token of its first document

  bool operator==(const TokenizedFile&) const = default;
};

// What a token file holds besides its tokens.
struct TokenFileInfo {
  int64_t tokens = 0;
  int64_t documents = 0;
  int64_t text_bytes = 0;  // of all documents, as they were tokenised; 0 if they came as tokens
  TokenId largest_token = 0;
  std::vector<TokenizedFile> files;
};

// The bytes of a token when every id is below `vocab_size`: 1, 2 or 4.
int WidthFor(int64_t vocab_size);

// A token file, mapped. Pages that were read stay resident until ReleasePages.
class TokenFile {
 public:
  // DAMAGED_FILE naming the offset if it is not a whole, unchanged token file of this version.
  static Result<TokenFile> Open(Io& io, const std::string& path);

  const TokenFileInfo& info() const { return info_; }
  int64_t tokens() const { return info_.tokens; }
  int width() const { return width_; }
  // Tokens [begin, begin + out.size()), which the file has.
  void Read(int64_t begin, std::span<TokenId> out) const;
  // Bytes of all source files.
  int64_t source_bytes() const;
  // The file that token `index` came from (the end-of-text after its last document counts to it).
  const TokenizedFile& FileOf(int64_t index) const;
  // Gives the pages that were touched back to the page cache, so that the mapping's share of the process's
  // memory stays small however much data there is.
  void ReleasePages() const;

 private:
  std::unique_ptr<MappedFile> mapping_;
  const std::byte* tokens_ = nullptr;
  int width_ = 0;
  TokenFileInfo info_;
};

// Writes a token file as its tokens come, then what is known at the end.
class TokenFileWriter {
 public:
  // `width` as WidthFor says; every id must fit.
  static Result<TokenFileWriter> Create(Io& io, const std::string& path, int width);
  Status Append(std::span<const TokenId> tokens);
  // Writes table, sizes and checksum and makes the file durable. info.tokens and info.largest_token are the
  // writer's own.
  Status Finish(const TokenFileInfo& info);

  int64_t tokens() const { return tokens_; }

 private:
  TokenFileWriter(std::unique_ptr<WritableFile> file, int width) : file_(std::move(file)), width_(width) {}
  Status AppendSummed(std::span<const std::byte> bytes);

  std::unique_ptr<WritableFile> file_;
  std::unique_ptr<ChecksumStream> checksum_ = std::make_unique<ChecksumStream>();
  int width_;
  int64_t tokens_ = 0;
  TokenId largest_token_ = 0;
  std::vector<std::byte> narrowed_;  // the piece that is being written
};

}  // namespace traind::data
