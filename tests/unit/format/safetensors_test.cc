// Safetensors: what is written is read back; everything damaged is refused with its place, at no great cost.
#include "engine/format/safetensors.h"

#include <malloc.h>

#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "engine/base/limits.h"
#include "tests/unit/format/memory_file.h"

#include "tests/support/test.h"

namespace traind::format {
namespace {

using testing::MemoryFile;

std::string File(const std::string& header, size_t data_bytes) {
  std::string file;
  for (int shift = 0; shift < 64; shift += 8) {
    file.push_back(static_cast<char>(static_cast<uint64_t>(header.size()) >> shift & 0xff));
  }
  return file + header + std::string(data_bytes, 'd');
}

Result<std::vector<TensorInfo>> Read(std::string file) {
  return ReadSafetensorsHeader(MemoryFile(std::move(file)), "/t.safetensors");
}

std::string Tensor(const std::string& name, const std::string& shape, const std::string& offsets) {
  return "\"" + name + R"(":{"dtype":"F32","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}";
}

void ReadsWhatIsWritten(void**) {
  const std::vector<NamedShape> shapes = {
      {"a.weight", {2, 3}}, {"scalar", {}}, {"empty", {0, 4}}, {"z\"\\é", {1}}};
  const std::string header = MakeSafetensorsHeader(shapes);
  assert_int_equal(header.size() % 8, 0);
  const auto tensors = Read(header + std::string(4 * (6 + 1 + 0 + 1), 'x'));
  assert_ok(tensors);
  assert_int_equal(tensors->size(), 4);
  int64_t offset = std::ssize(header);
  for (const NamedShape& shape : shapes) {
    const TensorInfo* found = nullptr;
    for (const TensorInfo& tensor : *tensors) {
      if (tensor.name == shape.name) found = &tensor;
    }
    assert_non_null(found);
    assert_true(found->shape == shape.shape);
    assert_int_equal(found->offset, offset);
    offset += found->bytes;
  }
}

void AcceptsOtherWritersForms(void**) {
  // Any order, white space, escapes, metadata, no tensors at all.
  assert_ok(Read(File("{" + Tensor("b", "[1]", "[4,8]") + "," + Tensor("a", "[1]", "[0,4]") + "}", 8)));
  assert_ok(
      Read(File("{ \n\t\"a\" : { \"shape\":[ 1 ] , \"data_offsets\":[0, 4], \"dtype\":\"F32\"} }   ", 4)));
  assert_ok(Read(File(
      R"({"__metadata__":{"format":"pt","x":""},"\u0061\n":{"dtype":"F32","shape":[],"data_offsets":[0,4]}})",
      4)));
  assert_ok(Read(File("{}", 0)));
  assert_ok(Read(File(R"({"__metadata__":{}})", 0)));
  // A header that is read in several pieces.
  std::string many = "{";
  for (int i = 0; i < 3000; ++i) {
    many += (i ? "," : "") + Tensor("layers." + std::to_string(i), "[1]",
                                    "[" + std::to_string(4 * i) + "," + std::to_string(4 * i + 4) + "]");
  }
  assert_ok(Read(File(many + "}", 12000)));
}

struct Sample {
  const char* what;
  std::string file;
};

std::vector<Sample> DamagedLengths() {
  const std::string good = File("{" + Tensor("a", "[1]", "[0,4]") + "}", 4);
  std::vector<Sample> samples = {
      {"nothing", ""},
      {"7 bytes", good.substr(0, 7)},
      {"only a length", good.substr(0, 8)},
      {"header cut", good.substr(0, 20)},
      {"data cut by one", good.substr(0, good.size() - 1)},
      {"no data", good.substr(0, good.size() - 4)},
      {"a byte too many", good + "x"},
      {"a zero too many", good + std::string(1, '\0')},
      {"length 0", std::string(8, '\0') + "{}"},
      {"length 1", File("{", 10)},
  };
  for (const uint64_t length : {uint64_t{100}, uint64_t{1} << 31, uint64_t{1} << 63, ~uint64_t{0},
                                ~uint64_t{0} - 7, static_cast<uint64_t>(kMaxSafetensorsHeaderBytes),
                                static_cast<uint64_t>(kMaxSafetensorsHeaderBytes) + 1}) {
    std::string file = good;
    std::memcpy(file.data(), &length, 8);
    samples.push_back({"wrong length", file});
  }
  return samples;
}

std::vector<Sample> DamagedJson() {
  const std::string a = Tensor("a", "[1]", "[0,4]");
  return {
      {"not JSON", File("hello", 4)},
      {"an array", File("[" + a + "]", 4)},
      {"a number", File("17", 4)},
      {"white space first", File(" {" + a + "}", 4)},
      {"a byte order mark", File("\xef\xbb\xbf{" + a + "}", 4)},
      {"not closed", File("{" + a, 4)},
      {"closed twice", File("{" + a + "}}", 4)},
      {"text after it", File("{" + a + "} x", 4)},
      {"NUL padding", File("{" + a + "}" + std::string(4, '\0'), 4)},
      {"a NUL in a name", File("{" + Tensor(std::string("a\0b", 3), "[1]", "[0,4]") + "}", 4)},
      {"a bare newline in a name", File("{" + Tensor("a\nb", "[1]", "[0,4]") + "}", 4)},
      {"a trailing comma", File("{" + a + ",}", 4)},
      {"single quotes", File("{'a':{}}", 4)},
      {"a comment", File("{/* */" + a + "}", 4)},
      {"invalid UTF-8 in a name", File("{" + Tensor("a\xff", "[1]", "[0,4]") + "}", 4)},
      {"a lone surrogate", File("{" + Tensor("\\ud800", "[1]", "[0,4]") + "}", 4)},
      {"a bad escape", File("{" + Tensor("\\x", "[1]", "[0,4]") + "}", 4)},
      {"an unfinished string", File("{\"aaaa", 4)},
      {"deep arrays", File("{\"a\":" + std::string(100000, '['), 4)},
      {"deep objects", File(
                           [] {
                             std::string s;
                             for (int i = 0; i < 100000; ++i) s += "{\"a\":";
                             return s;
                           }(),
                           4)},
      {"deep metadata", File(R"({"__metadata__":{"a":{"b":"c"}}})", 0)},
      {"a number in the metadata", File(R"({"__metadata__":{"a":1}})", 0)},
      {"metadata twice", File(R"({"__metadata__":{},"__metadata__":{}})", 0)},
      {"metadata that is a string", File(R"({"__metadata__":"a"})", 0)},
      {"metadata that is null", File(R"({"__metadata__":null})", 0)},
      {"a name of 2 MiB", File("{" + Tensor(std::string(2 << 20, 'n'), "[1]", "[0,4]") + "}", 4)},
      {"a name of 513 bytes", File("{" + Tensor(std::string(513, 'n'), "[1]", "[0,4]") + "}", 4)},
      {"an empty name", File("{" + Tensor("", "[1]", "[0,4]") + "}", 4)},
  };
}

std::vector<Sample> DamagedTensors() {
  const auto one = [](const std::string& tensor, size_t data = 4) { return File("{" + tensor + "}", data); };
  const std::string a = Tensor("a", "[1]", "[0,4]");
  std::vector<Sample> samples = {
      {"a tensor that is a string", one(R"("a":"x")")},
      {"a tensor that is an array", one(R"("a":[1])")},
      {"a tensor that is a number", one(R"("a":1)")},
      {"an empty tensor object", one(R"("a":{})")},
      {"no dtype", one(R"("a":{"shape":[1],"data_offsets":[0,4]})")},
      {"no shape", one(R"("a":{"dtype":"F32","data_offsets":[0,4]})")},
      {"no offsets", one(R"("a":{"dtype":"F32","shape":[1]})")},
      {"an unknown field", one(R"("a":{"dtype":"F32","shape":[1],"data_offsets":[0,4],"x":1})")},
      {"dtype twice", one(R"("a":{"dtype":"F32","dtype":"F32","shape":[1],"data_offsets":[0,4]})")},
      {"shape twice", one(R"("a":{"dtype":"F32","shape":[1],"shape":[1],"data_offsets":[0,4]})")},
      {"offsets twice", one(R"("a":{"dtype":"F32","shape":[1],"data_offsets":[0,4],"data_offsets":[0,4]})")},
      {"bf16 of another size", one(R"("a":{"dtype":"BF16","shape":[1],"data_offsets":[0,4]})")},
      {"four bits", one(R"("a":{"dtype":"F4","shape":[8],"data_offsets":[0,4]})")},
      {"an unknown dtype", one(R"("a":{"dtype":"F31","shape":[1],"data_offsets":[0,4]})")},
      {"lower case", one(R"("a":{"dtype":"f32","shape":[1],"data_offsets":[0,4]})")},
      {"a dtype that is a number", one(R"("a":{"dtype":32,"shape":[1],"data_offsets":[0,4]})")},
      {"a dtype that is null", one(R"("a":{"dtype":null,"shape":[1],"data_offsets":[0,4]})")},
      {"a shape that is a number", one(Tensor("a", "1", "[0,4]"))},
      {"a shape that is a string", one(Tensor("a", "\"1\"", "[0,4]"))},
      {"a shape that is an object", one(Tensor("a", "{}", "[0,4]"))},
      {"a nested shape", one(Tensor("a", "[[1]]", "[0,4]"))},
      {"a negative extent", one(Tensor("a", "[-1]", "[0,4]"))},
      {"a fractional extent", one(Tensor("a", "[1.0]", "[0,4]"))},
      {"an exponent", one(Tensor("a", "[1e0]", "[0,4]"))},
      {"an extent of 2^64", one(Tensor("a", "[18446744073709551616]", "[0,4]"))},
      {"an extent of 2^63", one(Tensor("a", "[9223372036854775808]", "[0,4]"))},
      {"a huge number", one(Tensor("a", "[1" + std::string(4000, '0') + "]", "[0,4]"))},
      {"true as an extent", one(Tensor("a", "[true]", "[0,4]"))},
      {"nine dimensions", one(Tensor("a", "[1,1,1,1,1,1,1,1,1]", "[0,4]"))},
      {"a product that overflows to 1", one(Tensor("a", "[4294967296,4294967296,1]", "[0,4]"))},
      {"an overflow hidden by 0", one(Tensor("a", "[4294967296,4294967296,4294967296,0]", "[0,0]"), 0)},
      {"a shape too large for the offsets", one(Tensor("a", "[2]", "[0,4]"))},
      {"a shape too small", one(Tensor("a", "[1]", "[0,8]"), 8)},
      {"one offset", one(Tensor("a", "[1]", "[0]"))},
      {"three offsets", one(Tensor("a", "[1]", "[0,4,8]"))},
      {"no offsets in the list", one(Tensor("a", "[1]", "[]"))},
      {"offsets reversed", one(Tensor("a", "[1]", "[4,0]"))},
      {"a negative offset", one(Tensor("a", "[1]", "[-4,0]"))},
      {"an offset that is a string", one(Tensor("a", "[1]", "[\"0\",4]"))},
      {"a gap at the begin", one(Tensor("a", "[1]", "[4,8]"), 8)},
      {"a gap at the end", one(a, 8)},
      {"a gap between", one(a + "," + Tensor("b", "[1]", "[8,12]"), 12)},
      {"an overlap", one(a + "," + Tensor("b", "[1]", "[0,4]"))},
      {"half an overlap", one(Tensor("a", "[2]", "[0,8]") + "," + Tensor("b", "[2]", "[4,12]"), 12)},
      {"an end beyond the file", one(a + "," + Tensor("b", "[1]", "[4,8]"))},
      {"an end far beyond", one(Tensor("a", "[2305843009213693951]", "[0,9223372036854775804]"))},
      {"a name twice", one(a + "," + Tensor("a", "[1]", "[4,8]"), 8)},
      {"a name twice, escaped", one(a + "," + Tensor("\\u0061", "[1]", "[4,8]"), 8)},
      {"data without tensors", File("{}", 4)},
  };
  std::string many = "{";
  for (int i = 0; i <= 16384; ++i) many += (i ? "," : "") + Tensor(std::to_string(i), "[0]", "[0,0]");
  samples.push_back({"16385 tensors", File(many + "}", 0)});
  return samples;
}

void RefusesDamage(void**) {
  size_t count = 0;
  for (const auto& samples : {DamagedLengths(), DamagedJson(), DamagedTensors()}) {
    for (const Sample& sample : samples) {
      const Status status = Read(sample.file).status();
      if (status.code() != ErrorCode::DAMAGED_FILE || status.message().find("at byte") == std::string::npos) {
        print_error("%s: %s\n", sample.what, status.ToString().c_str());
        fail();
      }
      ++count;
    }
  }
  assert_true(count >= 60);
}

// Any prefix, and any byte changed, of a good file is refused or read as something within the file.
void SurvivesAnyDamage(void**) {
  const std::string good = File("{" + Tensor("a", "[1]", "[0,4]") + "," + Tensor("b", "[2,2]", "[4,20]") +
                                    R"(,"__metadata__":{"k":"v"}})",
                                20);
  assert_ok(Read(good));
  for (size_t i = 0; i < good.size(); ++i) {
    assert_code(Read(good.substr(0, i)), ErrorCode::DAMAGED_FILE);
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = good;
      damaged[i] = static_cast<char>(damaged[i] ^ 1 << bit);
      const auto tensors = Read(damaged);
      if (!tensors.ok()) {
        assert_code(tensors, ErrorCode::DAMAGED_FILE);
        continue;
      }
      for (const TensorInfo& tensor : *tensors) assert_true(tensor.offset + tensor.bytes <= std::ssize(good));
    }
  }
}

// A header of nearly 100 MiB is read in pieces: what it costs is its tensors' names at most.
void HostileHeaderCostsLittle(void**) {
  std::string header = "{";
  header.append(static_cast<size_t>(kMaxSafetensorsHeaderBytes) - 100, ' ');
  header += Tensor("a", "[1]", "[0,4]") + "}";
  const MemoryFile file(File(header, 4));
  const size_t before = mallinfo2().uordblks + mallinfo2().hblkhd;
  struct Watch : ReadableFile {
    explicit Watch(const MemoryFile& f) : file(f) {}
    int64_t size() const override { return file.size(); }
    Status ReadAt(int64_t offset, std::span<std::byte> out) const override {
      peak = std::max(peak, mallinfo2().uordblks + mallinfo2().hblkhd);
      return file.ReadAt(offset, out);
    }
    const MemoryFile& file;
    mutable size_t peak = 0;
  } watch(file);
  assert_ok(ReadSafetensorsHeader(watch, "/t"));
#if !defined(__SANITIZE_ADDRESS__)
  assert_true(watch.peak - before < (1 << 20));
#else
  static_cast<void>(before);
#endif
}

}  // namespace
}  // namespace traind::format

int main() {
  using namespace traind::format;
  const CMUnitTest tests[] = {
      cmocka_unit_test(ReadsWhatIsWritten),
      cmocka_unit_test(AcceptsOtherWritersForms),
      cmocka_unit_test(RefusesDamage),
      cmocka_unit_test(SurvivesAnyDamage),
      cmocka_unit_test(HostileHeaderCostsLittle),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
