#!/usr/bin/env python3
"""An Ethernet switch in user space whose links are slow and lossy, where the kernel has no tc netem.

usage: slow_switch.py NAME…

Makes a TAP device of every name, prints "ready", and forwards frames between them until it is ended.
What comes from a device takes 20 ms +- 5 ms, frames overtaking each other, and 1 % of it is lost; the
last device's is forwarded at once. Runs as root, in the network namespace of the caller, who may move
the devices to others. Helper of run.sh beside it.
"""
import fcntl
import heapq
import os
import random
import select
import struct
import sys
import time

TUNSETIFF = 0x400454CA
IFF_TAP, IFF_NO_PI = 0x0002, 0x1000
MAX_FRAME_BYTES = 65536
DELAY_SECONDS, JITTER_SECONDS, LOSS = 0.020, 0.005, 0.01


def open_tap(name):
    tap = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(tap, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TAP | IFF_NO_PI))
    return tap


def send(frame, port, ports, port_of_address):
    target = port_of_address.get(frame[:6])
    for other in [target] if target is not None else [tap for tap in ports if tap != port]:
        try:
            os.write(other, frame)
        except OSError:
            pass  # a device that is down, or whose queue is full, loses the frame


def main(names):
    ports = [open_tap(name) for name in names]
    print("ready", flush=True)
    chance = random.Random(1)
    port_of_address = {}
    waiting = []  # heap of (due, number, port, frame)
    number = 0
    while True:
        timeout = max(0.0, waiting[0][0] - time.monotonic()) if waiting else None
        for port in select.select(ports, [], [], timeout)[0]:
            try:
                frame = os.read(port, MAX_FRAME_BYTES)
            except OSError:
                continue
            port_of_address[frame[6:12]] = port
            delay = 0.0
            if port != ports[-1]:
                if chance.random() < LOSS:
                    continue
                delay = DELAY_SECONDS + chance.uniform(-JITTER_SECONDS, JITTER_SECONDS)
            number += 1
            heapq.heappush(waiting, (time.monotonic() + delay, number, port, frame))
        while waiting and waiting[0][0] <= time.monotonic():
            _, _, port, frame = heapq.heappop(waiting)
            send(frame, port, ports, port_of_address)


if __name__ == "__main__":
    if len(sys.argv) < 3 or sys.argv[1].startswith("-"):
        print(__doc__.strip())
        sys.exit(0 if sys.argv[1:] in (["--help"], ["-h"]) else 2)
    main(sys.argv[1:])
