"""The command line: which commands there are, and how what they raise becomes an exit code.

A command is a function in a module of its own that loads its parts when it is called, so that
`--help` stays fast and phone commands never load the training stack. To add one, add its line to
`COMMANDS`; to open a group, add its line to `GROUPS`.

Exit codes: 0 success, 1 failure, 2 misuse, 130 interrupted.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence

import typer

from outrider import (
    audit,
    base_train,
    bench,
    bench_clones,
    bench_faults,
    bench_learning,
    bench_phone,
    bench_release,
    bench_staged_release,
    bench_sync,
    broker,
    broker_run,
    clones,
    clones_check,
    clones_new,
    clones_play,
    clones_render,
    clones_trace,
    cloud,
    conformance,
    do,
    doctor,
    episode_judge,
    episodes,
    evaluate,
    export,
    farm,
    fleet,
    fleet_members,
    fleet_task,
    fleet_view,
    judge,
    keys,
    learn,
    lineage,
    phone_enrol,
    phone_guard,
    phone_mock,
    phone_run,
    phone_stop,
    phone_tree,
    phones,
    release_publish,
    release_stage,
    releases,
    replay,
    up,
)
from outrider.errors import MisuseError
from outrider.output import print_error
from sync.errors import ProjectError

INTERRUPTED = 130

COMMANDS: tuple[tuple[str, Callable[..., None]], ...] = (
    ("up", up.up),
    ("do", do.do),
    ("phone list", phones.list_phones),
    ("phone mock", phone_mock.mock_phone),
    ("phone run", phone_run.run_phone),
    ("phone enroll", phone_enrol.enrol_phone),
    ("phone tree", phone_tree.show_tree),
    ("phone stop", phone_stop.stop_phone),
    ("phone start", phone_stop.start_phone),
    ("phone answer", phone_stop.answer_phone),
    ("phone guard show", phone_guard.show_rules),
    ("phone guard check", phone_guard.check_rules),
    ("phone guard explain", phone_guard.explain),
    ("farm", farm.farm),
    ("fleet list", fleet_view.list_devices),
    ("fleet show", fleet_view.show_device),
    ("fleet watch", fleet_view.watch_devices),
    ("fleet set", fleet.set_devices),
    ("fleet label", fleet.label_devices),
    ("fleet stop", fleet.stop_devices),
    ("fleet start", fleet.start_devices),
    ("fleet task", fleet_task.give_task),
    ("fleet tasks", fleet_task.list_tasks),
    ("fleet cancel", fleet_task.cancel_task),
    ("fleet invite", fleet_members.invite),
    ("fleet rotate", fleet_members.rotate),
    ("fleet revoke", fleet_members.revoke),
    ("cloud serve", cloud.serve_cloud),
    ("cloud learn", learn.learn),
    ("cloud token", cloud.make_token),
    ("base train", base_train.train),
    ("eval", evaluate.evaluate),
    ("export", export.export),
    ("audit", audit.audit_fleet),
    ("episodes list", episodes.list_episodes),
    ("episodes show", episodes.show_episode),
    ("episodes lineage", lineage.show_step_lineage),
    ("episodes replay", replay.replay_episode),
    ("episodes judge", episode_judge.judge_episode),
    ("judge run", judge.run_judge),
    ("judge agreement", judge.measure_agreement),
    ("keys init", keys.init_keys),
    ("keys rotate", keys.rotate_keys),
    ("keys status", keys.show_keys),
    ("release list", releases.list_releases),
    ("release apply", releases.apply_release),
    ("release shadow", releases.shadow_release),
    ("release publish", release_publish.publish_base),
    ("release rollback", release_publish.roll_back),
    ("release stage", release_stage.stage_release),
    ("release status", release_stage.show_status),
    ("release approve", release_stage.approve_release),
    ("release pause", release_stage.pause_release),
    ("release resume", release_stage.resume_release),
    ("release abort", release_stage.abort_release),
    ("release audit-log", release_stage.show_audit_log),
    ("release lineage", lineage.show_lineage),
    ("clones list", clones.list_templates),
    ("clones check", clones_check.check_clones),
    ("clones trace", clones_trace.trace_task),
    ("clones new", clones_new.new_app),
    ("clones render", clones_render.render),
    ("clones play", clones_play.play),
    ("bench policy", bench.bench_policy),
    ("bench clones", bench_clones.bench_clones),
    ("bench faults", bench_faults.bench_faults),
    ("bench learning", bench_learning.bench_learning),
    ("bench phone", bench_phone.bench_phone),
    ("bench staged-release", bench_staged_release.bench_staged_release),
    ("bench release", bench_release.bench_release),
    ("bench sync", bench_sync.bench_sync),
    ("broker run", broker_run.run_broker),
    ("broker config", broker.write_config),
    ("sync conformance", conformance.check_conformance),
    ("doctor", doctor.doctor),
)
"""Words after `outrider`, and what they call; the function's docstring is its help."""

GROUPS = {
    "bench": "What things cost on this machine, and how well learners learn.",
    "broker": "A broker of the fleet's own, or files for one that somebody else runs.",
    "base": "Base networks: what a fleet starts with.",
    "clones": "Clones of apps, and their tasks.",
    "cloud": "The service that ingests, directs, publishes and answers.",
    "fleet": "All devices of a fleet, from afar.",
    "episodes": "Episodes in a phone's log.",
    "judge": "Verdicts of a model on episodes that nobody judged, and how good they are.",
    "keys": "The keys that sign a fleet's releases.",
    "phone": "One phone: physical, emulated or mock.",
    "phone guard": "What an agent may do on an owned phone.",
    "sync": "The wire between devices and cloud.",
    "release": "Adapter updates: signed, delivered, taken back.",
}


def build_app() -> typer.Typer:
    """The whole command line, made of `COMMANDS` and of the groups that they need."""
    app = typer.Typer(
        name="outrider",
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )
    app.callback()(_about)
    groups: dict[str, typer.Typer] = {}
    for words, command in COMMANDS:
        group, _, name = words.rpartition(" ")
        _group(group, groups, app).command(name)(command)
    return app


def _group(words: str, groups: dict[str, typer.Typer], app: typer.Typer) -> typer.Typer:
    """The group of that name, made in the group above it where it is not there yet."""
    if not words:
        return app
    if words not in groups:
        above, _, name = words.rpartition(" ")
        groups[words] = typer.Typer(rich_markup_mode=None)
        _group(above, groups, app).add_typer(groups[words], name=name, help=GROUPS[words])
    return groups[words]


def _about() -> None:
    """A fleet of phones that use apps, and learn from it."""


def run(arguments: Sequence[str]) -> int:
    """Run one command; returns its exit code, with every error as one line on stderr."""
    try:
        result = build_app()(list(arguments), standalone_mode=False, prog_name="outrider")
    except MisuseError as error:
        print_error(str(error))
        return 2
    except ProjectError as error:
        print_error(str(error))
        return 1
    except typer.Exit as error:
        return error.exit_code
    except (typer.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except ImportError as error:
        if not _was_interrupted(error):
            raise
        return INTERRUPTED
    except BrokenPipeError:
        return _reader_left()
    except OSError as error:  # a full disk, a folder without rights: where no part said it better
        print_error(f"{error}: see that there is room, and that the path can be read and written")
        return 1
    except typer.TyperException as error:
        print_error(f"{error.format_message()} (outrider --help lists the commands)")
        return error.exit_code
    return result if isinstance(result, int) else 0


def _was_interrupted(error: ImportError) -> bool:
    """Whether Ctrl-C broke an import off: packages in C++ make another error of it."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, KeyboardInterrupt):
        cause = cause.__cause__ or cause.__context__
    return cause is not None


def _reader_left() -> int:
    """Nobody reads stdout any more: point it at nothing, so that the exit does not trip over it."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0
