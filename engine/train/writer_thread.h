// WriterThread: one thread that does a run's work on files in the order in which it was given, while the run
// goes on.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace traind::train {

// Submit and the destructor are called by the owner's thread.
class WriterThread {
 public:
  WriterThread();
  // Carries out what was submitted, then ends the thread.
  ~WriterThread();
  WriterThread(const WriterThread&) = delete;
  WriterThread& operator=(const WriterThread&) = delete;

  void Submit(std::function<void()> work);

 private:
  void Loop();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> queue_;  // guarded by mutex_
  bool ending_ = false;                      // guarded by mutex_
  std::thread thread_;
};

}  // namespace traind::train
