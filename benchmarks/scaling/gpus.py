"""GPUs that many streams share, as a batch does: all proceed at one speed, up to a stream's own."""

import heapq
from itertools import count

import simpy

__all__ = ["SharedGpus"]


class SharedGpus:
    """Processor sharing: n streams each get ``min(stream_share, gpus / n)`` of a GPU.

    Args:
        env: The simulation.
        gpus: GPUs.
        stream_share: The most of one GPU that one stream can use.

    Attributes:
        busy: GPU-seconds of work done so far.
    """

    def __init__(self, env: simpy.Environment, gpus: int, stream_share: float) -> None:
        self._env, self._gpus, self._stream_share = env, gpus, stream_share
        self._ends: list[tuple[float, int, simpy.Event]] = []
        self._number = count()
        self._served = self._since = self.busy = 0.0
        self._paused = False
        self._timer = 0

    def work(self, gpu_seconds: float) -> simpy.Event:
        """An event that comes when a stream has been served so much."""
        self._advance()
        done = self._env.event()
        heapq.heappush(self._ends, (self._served + gpu_seconds, next(self._number), done))
        self._schedule()
        return done

    def pause(self) -> None:
        """Stops all streams, as while weights are updated."""
        self._advance()
        self._paused = True
        self._schedule()

    def resume(self) -> None:
        """Lets them go on."""
        self._advance()
        self._paused = False
        self._schedule()

    @property
    def _speed(self) -> float:
        streams = len(self._ends)
        if self._paused or not streams:
            return 0.0
        return min(self._stream_share, self._gpus / streams)

    def _advance(self) -> None:
        """Brings what every stream has been served up to now."""
        served = (self._env.now - self._since) * self._speed
        self._served += served
        self.busy += served * len(self._ends)
        self._since = self._env.now

    def _schedule(self) -> None:
        """Sets the alarm for the stream that ends next, if any; earlier alarms no longer count."""
        self._timer += 1
        if self._ends and not self._paused:
            left = max(0.0, self._ends[0][0] - self._served)
            alarm = self._env.timeout(left / self._speed, self._timer)
            assert alarm.callbacks is not None
            alarm.callbacks.append(self._finish)

    def _finish(self, alarm: simpy.Event) -> None:
        if alarm.value != self._timer:
            return
        self._advance()
        # The stream that the alarm was for has ended, whatever the last digit says.
        self._served = max(self._served, self._ends[0][0])
        while self._ends and self._ends[0][0] <= self._served:
            heapq.heappop(self._ends)[2].succeed()
        self._schedule()
