"""Processes and logs of the mock phone: ps, pidof, kill, logcat, and facts about the machine."""

from __future__ import annotations

import asyncio
from typing import Final

from apps_mock.adb_calls import Call, Command
from apps_mock.adb_device import MockDevice
from apps_mock.adb_options import options_of
from apps_mock.adb_packages import uid_of
from apps_mock.errors import CommandUsageError
from apps_mock.launcher import PACKAGE as LAUNCHER
from apps_mock.launcher import SYSTEM_UI
from apps_mock.registry import APPS

_FIXED: Final = {
    "init": 1, "surfaceflinger": 412, "system_server": 1337, SYSTEM_UI: 1502, LAUNCHER: 1655,
    "adbd": 2001,
}  # fmt: skip
_ADDRESS: Final = "192.0.2.15"
_LOG_ENDS: Final = frozenset("dcgtTL")


class ProcessCommands:
    """The process table of one phone: its fixed processes and the apps that were opened."""

    def __init__(self, device: MockDevice) -> None:
        self._device = device

    def table(self) -> dict[str, Command]:
        """The commands by name."""
        return {
            "ps": self._ps, "pidof": self._pidof, "pgrep": self._pgrep, "kill": self._kill,
            "pkill": self._pkill, "killall": self._pkill, "top": self._top, "logcat": _logcat,
            "ip": _ip, "ifconfig": _ifconfig, "ping": _ping, "free": _free, "service": _service,
            "getenforce": _getenforce, "dmesg": _dmesg, "reboot": _reboot, "log": _quiet,
        }  # fmt: skip

    def _processes(self) -> dict[str, int]:
        """Process ids by name."""
        with self._device.in_use() as phone:
            state = phone.loaded_state()
            opened = [] if state is None else [name for name in state.recents if name in APPS]
        apps = {APPS[name].package: 3000 + uid_of(APPS[name].package) % 5000 for name in opened}
        return _FIXED | apps

    async def _ps(self, call: Call) -> int:
        call.out("USER           PID  PPID     VSZ    RSS WCHAN            ADDR S NAME\n")
        for name, pid in self._processes().items():
            call.out(f"u0_a100      {pid:5d}   400 5000000 100000 0                0 S {name}\n")
        return 0

    async def _top(self, call: Call) -> int:
        """`top -n 1`: one look at the processes; one that goes on is refused."""
        options = options_of(call.arguments, flags="bHq", valued="dkmnopsu")
        if options.number("n", 0) != 1:
            raise CommandUsageError("only one look (-n 1) is supported")
        processes = self._processes()
        shown = list(processes.items())[: options.number("m", len(processes))]
        call.out(f"Tasks: {len(processes)} total,   1 running, {len(processes) - 1} sleeping\n")
        call.out("400%cpu   2%user   0%nice   3%sys 395%idle   0%iow   0%irq   0%sirq   0%host\n")
        call.out("  PID USER         PR  NI VIRT  RES  SHR S[%CPU] %MEM     TIME+ ARGS\n")
        for name, pid in shown:
            call.out(f"{pid:5d} u0_a100      20   0 5.0G 100M  80M S  0.0   1.2   0:01.00 {name}\n")
        return 0

    async def _pidof(self, call: Call) -> int:
        options = options_of(call.arguments, flags="s", valued="o")
        found = [str(pid) for name, pid in self._processes().items() if name in options.rest]
        call.out(" ".join(found) + "\n" if found else "")
        return 0 if found else 1

    async def _pgrep(self, call: Call) -> int:
        options = options_of(call.arguments, flags="flxno", valued="u")
        wanted = options.rest[-1] if options.rest else ""
        found = {name: pid for name, pid in self._processes().items() if wanted and wanted in name}
        call.out(
            "".join(
                f"{pid} {name}\n" if "l" in options.flags else f"{pid}\n"
                for name, pid in found.items()
            )
        )
        return 0 if found else 1

    async def _kill(self, call: Call) -> int:
        """End apps by their numbers; the phone's own processes may not be ended by the shell."""
        numbers = [each for each in call.arguments if each.isdigit()]
        by_pid = {str(pid): name for name, pid in self._processes().items()}
        for number in numbers:
            name = by_pid.get(number)
            if name is None:
                return call.fail(f"bad pid '{number}'")
            if name in _FIXED:
                return call.fail(f"{number}: Operation not permitted")
            await call.run(["am", "force-stop", name], call.input)
        return 0

    async def _pkill(self, call: Call) -> int:
        wanted = [each for each in call.arguments if not each.startswith("-")]
        names = [name for name in self._processes() if any(each in name for each in wanted)]
        for name in names:
            if name not in _FIXED:
                await call.run(["am", "force-stop", name], call.input)
        return 0 if names else 1


async def _logcat(call: Call) -> int:
    """An empty log; without -d it is followed, so it ends only with its reader."""
    options = options_of(
        call.arguments, flags="dcgSDBL", valued="bvtTfnrse",
        long_flags=["--clear", "--regex"], long_valued=["--pid", "--buffer", "--format"],
    )  # fmt: skip
    if "b" not in options.values and not {"c", "--clear"} & options.flags:
        call.out("--------- beginning of main\n")
    if not _LOG_ENDS & ({*options.flags} | {*options.values}) and "--clear" not in options.flags:
        await call.flush()
        await asyncio.Event().wait()
    return 0


async def _ip(call: Call) -> int:
    words = [each for each in call.arguments if not each.startswith("-")]
    if words[:1] in (["route"], ["r"]):
        call.out(f"192.0.2.0/24 dev wlan0 proto kernel scope link src {_ADDRESS}\n")
        return 0
    if words[:1] in (["addr"], ["a"], ["address"], ["link"]):
        call.out(
            "21: wlan0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 state UP\n"
            f"    inet {_ADDRESS}/24 brd 192.0.2.255 scope global wlan0\n"
        )
        return 0
    raise CommandUsageError("only 'route' and 'addr' are supported", 1)


async def _ifconfig(call: Call) -> int:
    call.out(
        "wlan0     Link encap:UNSPEC\n"
        f"          inet addr:{_ADDRESS}  Bcast:192.0.2.255  Mask:255.255.255.0\n"
        "          UP BROADCAST RUNNING MULTICAST  MTU:1500  Metric:1\n"
    )
    return 0


async def _ping(call: Call) -> int:
    call.error("connect: Network is unreachable")
    return 2


async def _free(call: Call) -> int:
    call.out("              total        used        free      shared     buffers\n")
    call.out("Mem:     7999841280  3584000000  4415841280           0     1000000\n")
    return 0


async def _service(call: Call) -> int:
    match call.arguments:
        case ("list",):
            call.out("Found 3 services:\n0\tactivity: []\n1\tpackage: []\n2\twindow: []\n")
        case ("check", name):
            call.out(f"Service {name}: found\n")
        case _:
            raise CommandUsageError("only 'list' and 'check NAME' are supported", 10)
    return 0


async def _getenforce(call: Call) -> int:
    call.out("Enforcing\n")
    return 0


async def _dmesg(call: Call) -> int:
    return call.fail("klogctl: Permission denied")


async def _reboot(call: Call) -> int:
    return call.fail("the mock phone restarts by 'adb reboot' only")


async def _quiet(_call: Call) -> int:
    return 0
