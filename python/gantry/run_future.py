# SPDX-License-Identifier: Apache-2.0
"""Asynchronous runs of sessions."""

from __future__ import annotations

import concurrent.futures
import os
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any

from gantry._core import CancelToken, Session

MOST_RUNS = 32  # concurrent runs of all sessions; a session has at most one context for each CPU


class RunFuture(concurrent.futures.Future[dict[str, Any]]):
    """A run started by Session.run_async(): `await` it in a coroutine, or wait with result(timeout)."""

    def __init__(self, token: CancelToken) -> None:
        super().__init__()
        self._token = token

    def cancel(self) -> bool:
        """Cancels the run, also one in progress; result() then raises gantry.CancelledError. Cancelling a coroutine that awaits the run has the
        same effect. Returns False if the run has ended.
        """
        if self.done():
            return False
        self._token.cancel()
        return True

    def __await__(self) -> Generator[Any, None, dict[str, Any]]:
        import asyncio  # who awaits has it already; others need not wait for it

        return asyncio.wrap_future(self).__await__()


class _Threads:
    """The threads that run asynchronous runs, created by the first run; a forked child creates its own."""

    def __init__(self) -> None:
        self._pool: concurrent.futures.ThreadPoolExecutor | None = None

    def submit(self, work: Callable[[], None]) -> None:
        if self._pool is None:
            self._pool = concurrent.futures.ThreadPoolExecutor(MOST_RUNS, thread_name_prefix="gantry run_async")
        self._pool.submit(work)

    def forget(self) -> None:
        self._pool = None


threads = _Threads()
os.register_at_fork(after_in_child=threads.forget)


def begin(
    session: Session, inputs: Mapping[str, Any], outputs: Sequence[str] | None, timeout: float | None, cancel: CancelToken | None
) -> RunFuture:
    """As Session.run_async()."""
    called = time.monotonic()
    token = cancel if cancel is not None else CancelToken()
    future = RunFuture(token)

    def run() -> None:
        future.set_running_or_notify_cancel()
        try:
            left = None if timeout is None else max(min(0.0, timeout), timeout - (time.monotonic() - called))
            result = session.run(inputs, outputs, timeout=left, cancel=token)
        except BaseException as error:  # noqa: BLE001 - any exception is passed to the waiting caller
            future.set_exception(error)
        else:
            future.set_result(result)

    threads.submit(run)
    return future
