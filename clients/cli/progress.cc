// The bar leaves out its last parts where the window is too narrow.
#include "clients/cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "clients/cli/terminal.h"
#include "clients/cli/text.h"

namespace traind::cli {
namespace {

constexpr int kBarColumns = 20;
constexpr auto kDrawEvery = std::chrono::milliseconds(100);
constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

double NumberOf(const traind_event* event, const char* key) {
  double value = 0;
  return traind_event_number(event, key, &value) == TRAIND_OK ? value : kUnknown;
}

double OrZero(double value) {
  return std::isnan(value) ? 0 : value;
}

std::string TextOf(const traind_event* event, const char* key) {
  const char* text = traind_event_text(event, key);
  return text == nullptr ? "" : Printable(text, false);
}

std::string Duration(double seconds) {
  auto whole = static_cast<int64_t>(std::max(0.0, std::ceil(seconds)));
  if (whole >= 86400) return fmt::format("{}d {:02}h", whole / 86400, whole % 86400 / 3600);
  if (whole >= 3600) return fmt::format("{}h {:02}m", whole / 3600, whole % 3600 / 60);
  if (whole >= 60) return fmt::format("{}m {:02}s", whole / 60, whole % 60);
  return fmt::format("{}s", whole);
}

std::string Rate(double value) {
  if (value >= 1e6) return fmt::format("{:.2f}M", value / 1e6);
  if (value >= 1e4) return fmt::format("{:.1f}k", value / 1e3);
  return fmt::format("{:.0f}", value);
}

std::string Bar(double share, const BarStyle& style) {
  share = std::clamp(share, 0.0, 1.0);
  int filled = static_cast<int>(std::lround(share * kBarColumns));
  std::string bar = style.utf8 ? "" : "[";
  for (int i = 0; i < kBarColumns; ++i) {
    if (i < filled)
      bar += style.utf8 ? "━" : "#";
    else
      bar += style.utf8 ? "╌" : "-";
  }
  return fmt::format("{}{} {:3.0f}%", bar, style.utf8 ? "" : "]", std::floor(share * 100));
}

// A statement that a worker carries out is no job: its state is the statement's name.
bool IsStatement(const JobProgress& progress) {
  return progress.job == 0;
}

bool IsPreparing(const JobProgress& progress) {
  return (progress.state == "PREPARING" || IsStatement(progress)) && progress.to_prepare > 0;
}

// The end of a text, in one line of at most `width` columns.
std::string TailOf(std::string text, int width) {
  std::ranges::replace_if(
      text, [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
  while (DisplayWidth(text) > width && !text.empty()) {
    size_t next = 1;
    while (next < text.size() && (text[next] & 0xc0) == 0x80) ++next;
    text.erase(0, next);
  }
  return text;
}

std::string Steps(const JobProgress& progress) {
  return progress.total_steps > 0 ? fmt::format("{:.0f}/{:.0f}", progress.step, progress.total_steps)
                                  : fmt::format("step {:.0f}", progress.step);
}

// The parts, the most important first.
std::vector<std::string> Parts(const JobProgress& progress, const BarStyle& style) {
  if (IsStatement(progress)) {
    std::vector<std::string> parts = {progress.state};
    if (IsPreparing(progress)) parts.push_back(Bar(progress.prepared / progress.to_prepare, style));
    const int width = style.width - 4 - DisplayWidth(progress.state);
    if (!progress.text.empty()) parts.push_back(TailOf(progress.text, width));
    return parts;
  }
  std::vector<std::string> parts = {fmt::format("job {}", progress.job), progress.state};
  if (IsPreparing(progress)) {
    parts.push_back(Bar(progress.prepared / progress.to_prepare, style));
    return parts;
  }
  if (progress.total_steps > 0) parts.push_back(Bar(progress.step / progress.total_steps, style));
  if (progress.step > 0 || progress.total_steps > 0) parts.push_back(Steps(progress));
  if (!std::isnan(progress.loss)) parts.push_back(fmt::format("loss {:.4f}", progress.loss));
  if (!std::isnan(progress.val_loss)) parts.push_back(fmt::format("val {:.4f}", progress.val_loss));
  if (progress.eta_seconds > 0) parts.push_back("eta " + Duration(progress.eta_seconds));
  if (progress.tokens_per_second > 0) parts.push_back(Rate(progress.tokens_per_second) + " tok/s");
  if (!progress.text.empty()) parts.push_back(progress.text);
  return parts;
}

bool IsTerminalState(const std::string& state) {
  return state == "SUCCEEDED" || state == "FAILED" || state == "CANCELLED" || state == "BUDGET_EXCEEDED";
}

}  // namespace

JobProgress ReadProgress(const traind_event* event) {
  JobProgress progress;
  progress.job = traind_event_job(event);
  progress.state = TextOf(event, "state");
  progress.text = TextOf(event, "text");
  progress.step = OrZero(NumberOf(event, "step"));
  progress.total_steps = OrZero(NumberOf(event, "total_steps"));
  progress.loss = NumberOf(event, "loss");
  progress.val_loss = NumberOf(event, "val_loss");
  progress.tokens_per_second = OrZero(NumberOf(event, "tokens_per_second"));
  progress.eta_seconds = OrZero(NumberOf(event, "eta_seconds"));
  progress.prepared = OrZero(NumberOf(event, "preparing.0"));
  progress.to_prepare = OrZero(NumberOf(event, "preparing.1"));
  return progress;
}

std::string FormatBar(const JobProgress& progress, const BarStyle& style) {
  std::string line;
  for (const std::string& part : Parts(progress, style)) {
    std::string longer = line.empty() ? part : line + "  " + part;
    if (DisplayWidth(longer) > style.width - 1) break;
    line = std::move(longer);
  }
  return line;
}

std::string FormatState(const JobProgress& progress) {
  std::string line = fmt::format("job {}: {}", progress.job, progress.state);
  if (progress.step > 0) {
    line += progress.total_steps > 0
                ? fmt::format(", step {:.0f} of {:.0f}", progress.step, progress.total_steps)
                : fmt::format(", step {:.0f}", progress.step);
  }
  if (!std::isnan(progress.loss)) line += fmt::format(", loss {:.4f}", progress.loss);
  if (!std::isnan(progress.val_loss)) line += fmt::format(", val_loss {:.4f}", progress.val_loss);
  if (!progress.text.empty()) line += ": " + progress.text;
  return line;
}

void Progress::Draw(const JobProgress& progress) {
  Terminal terminal = LookAt(STDERR_FILENO);
  WriteError("\r" + FormatBar(progress, {terminal.width, terminal.utf8, terminal.colour}) + "\x1b[K");
  drawn_ = true;
  drawn_at_ = std::chrono::steady_clock::now();
}

void Progress::Update(JobProgress progress) {
  JobProgress& told = told_[progress.job];
  bool changed = told.state != progress.state;
  if (std::isnan(progress.loss)) progress.loss = told.loss;  // at a job's end only its state is told
  if (std::isnan(progress.val_loss)) progress.val_loss = told.val_loss;
  told = progress;
  if (!LookAt(STDERR_FILENO).is_terminal) {
    if (changed && !IsStatement(progress)) WriteError(FormatState(progress) + "\n");
    return;
  }
  if (changed && IsTerminalState(progress.state)) {
    Clear();
    WriteError(FormatState(progress) + "\n");
  } else if (changed || !drawn_ || std::chrono::steady_clock::now() - drawn_at_ >= kDrawEvery) {
    Draw(progress);
  }
}

void Progress::Clear() {
  if (drawn_) WriteError("\r\x1b[K");
  drawn_ = false;
}

void Progress::Reset() {
  Clear();
  told_.clear();
}

}  // namespace traind::cli
