// Token files: a data set's tokens as one memory-mapped array, written once under a name made of its content.
//
// <cache directory>/<key>.tokens, little-endian:
//   64 bytes   magic, version, token width, tokens, documents, bytes of the document table, where the tokens
//              begin, largest token
//   table      JSON: for each document its file, size, time, checksum and first token
//   tokens     uint16 each, documents joined by end-of-text
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

inline constexpr uint32_t kTokenFileVersion = 1;

// Where a run of tokens comes from.
struct Document {
  std::string path;  // when it was tokenised
  int64_t bytes = 0;
  int64_t modified_ns = 0;
  std::string checksum;     // of its content
  int64_t token_begin = 0;  // its first token

  bool operator==(const Document&) const = default;
};

// What a token file holds besides its tokens.
struct TokenFileInfo {
  int64_t tokens = 0;
  Token largest_token = 0;
  std::vector<Document> documents;
};

// A token file, mapped. Pages that were read stay resident until ReleasePages.
class TokenFile {
 public:
  // DAMAGED_FILE naming the offset if it is not a whole, unchanged token file of this version.
  static Result<TokenFile> Open(Io& io, const std::string& path);

  const TokenFileInfo& info() const { return info_; }
  std::span<const Token> tokens() const { return tokens_; }
  // Bytes of all documents.
  int64_t source_bytes() const;
  // The document that token `index` belongs to (the end-of-text after one counts to it).
  const Document& DocumentOf(int64_t index) const;
  // Gives the pages that were touched back to the page cache, so that the mapping's share of the process's
  // memory stays small however much data there is.
  void ReleasePages() const;

 private:
  std::unique_ptr<MappedFile> mapping_;
  std::span<const Token> tokens_;
  TokenFileInfo info_;
};

// Writes a token file whose `info` is known before: header and table, then tokens as they come, then Finish.
class TokenFileWriter {
 public:
  static Result<TokenFileWriter> Create(Io& io, const std::string& path, const TokenFileInfo& info);
  Status Append(std::span<const Token> tokens);
  // Writes the checksum and makes the file durable. INTERNAL if other than info.tokens were appended.
  Status Finish();

 private:
  explicit TokenFileWriter(std::unique_ptr<WritableFile> file, int64_t tokens)
      : file_(std::move(file)), missing_tokens_(tokens) {}
  Status AppendSummed(std::span<const std::byte> bytes);

  std::unique_ptr<WritableFile> file_;
  std::unique_ptr<ChecksumStream> checksum_ = std::make_unique<ChecksumStream>();
  int64_t missing_tokens_;
};

}  // namespace traind::data
