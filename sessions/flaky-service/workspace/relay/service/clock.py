"""The service's time, in seconds since it was first started. Development moves it on by hand."""

TICK = 5


class Clock:
    def __init__(self, now: int = 0) -> None:
        self.now = now

    def advance(self, seconds: int) -> None:
        self.now += seconds

    def __str__(self) -> str:
        return f"{self.now // 3600:02}:{self.now // 60 % 60:02}:{self.now % 60:02}"
