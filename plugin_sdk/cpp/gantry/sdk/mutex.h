// SPDX-License-Identifier: Apache-2.0
// A mutex, its scopes and a condition variable that clang's thread-safety analysis understands, and
// the annotations that go with them. The analysis then rejects code that reads a guarded member
// without its mutex; tools/lint runs it as an error. Other compilers see no annotations. At run
// time these are the standard library's types. The core uses this header too (core/base/mutex.h).
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

#if defined(__clang__)
#define GANTRY_THREAD_ANNOTATION(x) __attribute__((x))
#else
#define GANTRY_THREAD_ANNOTATION(x)
#endif

/// Of a member or static variable: read and written only while the mutex is held.
#define GANTRY_GUARDED_BY(mutex) GANTRY_THREAD_ANNOTATION(guarded_by(mutex))
/// Of a pointer: what it points to is read and written only while the mutex is held.
#define GANTRY_PT_GUARDED_BY(mutex) GANTRY_THREAD_ANNOTATION(pt_guarded_by(mutex))
/// Of a function: the caller holds the mutex, before and after.
#define GANTRY_REQUIRES(...) GANTRY_THREAD_ANNOTATION(requires_capability(__VA_ARGS__))
/// Of a function: the caller must not hold the mutex, as the function locks it.
#define GANTRY_EXCLUDES(...) GANTRY_THREAD_ANNOTATION(locks_excluded(__VA_ARGS__))
/// Of a mutex: always locked after those named, so that two threads cannot wait for each other.
#define GANTRY_ACQUIRED_AFTER(...) GANTRY_THREAD_ANNOTATION(acquired_after(__VA_ARGS__))
/// Of a function that returns a reference to a mutex.
#define GANTRY_RETURN_CAPABILITY(mutex) GANTRY_THREAD_ANNOTATION(lock_returned(mutex))
/// Of a function that locks or unlocks for its caller; the types below are all that need them.
#define GANTRY_ACQUIRE(...) GANTRY_THREAD_ANNOTATION(acquire_capability(__VA_ARGS__))
#define GANTRY_RELEASE(...) GANTRY_THREAD_ANNOTATION(release_capability(__VA_ARGS__))
#define GANTRY_TRY_ACQUIRE(...) GANTRY_THREAD_ANNOTATION(try_acquire_capability(__VA_ARGS__))
/// Of a function that is right for a reason that the analysis cannot follow. Says why beside it.
#define GANTRY_NO_THREAD_SAFETY_ANALYSIS GANTRY_THREAD_ANNOTATION(no_thread_safety_analysis)

namespace gantry::sdk {

/// Not recursive. Constant-initialised, so that one of static storage needs no initialiser.
class GANTRY_THREAD_ANNOTATION(capability("mutex")) Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void lock() GANTRY_ACQUIRE() { mutex_.lock(); }
  void unlock() GANTRY_RELEASE() { mutex_.unlock(); }
  [[nodiscard]] bool try_lock() GANTRY_TRY_ACQUIRE(true) { return mutex_.try_lock(); }

 private:
  friend class CondVar;
  std::mutex mutex_;
};

/// Holds a mutex to the end of a scope.
class GANTRY_THREAD_ANNOTATION(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) GANTRY_ACQUIRE(mutex) : mutex_(mutex) { mutex_.lock(); }
  ~MutexLock() GANTRY_RELEASE() { mutex_.unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

/// Unlocks a mutex that the thread holds, and locks it again at the end of the scope, also where
/// the scope ends by an exception.
class GANTRY_THREAD_ANNOTATION(scoped_lockable) MutexUnlock {
 public:
  explicit MutexUnlock(Mutex& mutex) GANTRY_RELEASE(mutex) : mutex_(mutex) { mutex_.unlock(); }
  ~MutexUnlock() GANTRY_RELEASE() { mutex_.lock(); }  // the analysis requires RELEASE here
  MutexUnlock(const MutexUnlock&) = delete;
  MutexUnlock& operator=(const MutexUnlock&) = delete;

 private:
  Mutex& mutex_;
};

/// A wait unlocks the mutex while it waits and holds it again when it returns. A wait may end
/// without a notification, so wait in a loop that tests the condition. The analysis checks such a
/// loop; it does not look into a predicate passed as a lambda.
class CondVar {
 public:
  CondVar() = default;
  CondVar(const CondVar&) = delete;
  CondVar& operator=(const CondVar&) = delete;

  void wait(Mutex& mutex) GANTRY_REQUIRES(mutex) {
    Adopted adopted(mutex.mutex_);
    changed_.wait(adopted.lock);
  }
  /// False: timed out.
  template <typename Clock, typename Duration>
  bool wait_until(Mutex& mutex, const std::chrono::time_point<Clock, Duration>& end)
      GANTRY_REQUIRES(mutex) {
    Adopted adopted(mutex.mutex_);
    return changed_.wait_until(adopted.lock, end) == std::cv_status::no_timeout;
  }
  /// False: timed out.
  template <typename Rep, typename Period>
  bool wait_for(Mutex& mutex, const std::chrono::duration<Rep, Period>& time)
      GANTRY_REQUIRES(mutex) {
    Adopted adopted(mutex.mutex_);
    return changed_.wait_for(adopted.lock, time) == std::cv_status::no_timeout;
  }

  void notify_one() noexcept { changed_.notify_one(); }
  void notify_all() noexcept { changed_.notify_all(); }

 private:
  // The standard library waits with a lock of its own type; this one leaves the mutex held.
  struct Adopted {
    explicit Adopted(std::mutex& mutex) : lock(mutex, std::adopt_lock) {}
    ~Adopted() { lock.release(); }
    Adopted(const Adopted&) = delete;
    Adopted& operator=(const Adopted&) = delete;
    std::unique_lock<std::mutex> lock;
  };

  std::condition_variable changed_;
};

}  // namespace gantry::sdk
