// Names the data of a batch.
#include "engine/train/batches.h"

#include <fmt/format.h>

#include <algorithm>

namespace traind::train {

std::string Batches::Describe(int64_t first, int64_t end) {
  std::string numbers, places;
  const int64_t named = std::min(end, first + kNamedSequences);
  for (int64_t position = first; position < named; ++position) {
    const int64_t sequence = sampler_.SequenceAt(position);
    const char* comma = position == first ? "" : ", ";
    fmt::format_to(std::back_inserter(numbers), "{}{}", comma, sequence);
    fmt::format_to(std::back_inserter(places), "{}{}", comma, sequences_.PlaceOf(sequence));
  }
  const char* more = named < end ? ", …" : "";
  const std::string when = weighted_ ? fmt::format("after {} sequences", first)
                                     : fmt::format("epoch {}", first / sequences_.count() + 1);
  return fmt::format("{}, sequences {}{} of {} ({}{})", when, numbers, more, sequences_.count(), places,
                     more);
}

}  // namespace traind::train
