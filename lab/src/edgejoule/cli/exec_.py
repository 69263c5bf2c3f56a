"""`edgejoule exec`: what any program costs, in one line."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from edgejoule.cli.common import (
    EXIT_FLAGGED,
    F,
    Number,
    Options,
    console,
    echo_json,
    json_option,
    messages,
    meter_option,
    stop_in_order,
    store_option,
)
from edgejoule.errors import DatabaseError, UsageError
from edgejoule.output_files import check_output

BUDGET_S = 60.0
#: The command itself, not what is done around it, ended with an exit code; a death by signal is never kept.
_EXIT_CODE = re.compile(r"failed: the command failed: (it +|repetition \d+ of \d+ )ended with exit code \d+")
#: Options of hyperfine that exec has in another form.
INSTEAD = {
    "-m": "--runs fixes the number of runs, and --budget their time",
    "-M": "--runs fixes the number of runs, and --budget their time",
    "-u": "times are in seconds; --json and --export-csv have all figures",
    "--time-unit": "times are in seconds; --json and --export-csv have all figures",
    "--style": "NO_COLOR=1 removes colours, and a pipe gets plain text",
    "--sort": "the table has the order of the commands; --export-csv writes rows to sort",
    "--reference": "ratios are to the best command; give the reference as one of the commands",
    "--min-runs": "--runs fixes the number of runs, and --budget their time",
    "--max-runs": "--runs fixes the number of runs, and --budget their time",
    "--show-output": "--output pipe shows the last lines of a command that fails, --output FILE keeps all",
    "--export-asciidoc": "--export-markdown and --export-csv write tables",
    "--export-orgmode": "--export-markdown and --export-csv write tables",
}


class ExecCommand(click.Command):
    """A command that keeps what stands behind `--` apart: one program with its arguments."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parses options and quoted commands before `--`; an argv follows it."""
        if "--" in args:
            place = args.index("--")
            ctx.meta["argv"], args = args[place + 1 :], args[:place]
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            if (instead := INSTEAD.get(error.option_name)) is not None:
                raise click.UsageError(f"{error.option_name} is not supported; {instead}", ctx) from None
            raise


def _texts(short: str, name: str, help_: str) -> Callable[[F], F]:
    return click.option(short, f"--{name}", name, multiple=True, metavar="CMD", help=help_)


@click.command(
    "exec",
    cls=ExecCommand,
    epilog="""\b
    Examples:
      edgejoule exec -- gzip -k -9 -f file
      edgejoule exec 'gzip -kf file' 'zstd -kf file'
      edgejoule exec -L level 1,6,9 'gzip -{level} -kf file'
      edgejoule exec -P threads 1 4 --budget 120 'make -B -j {threads}'
      edgejoule exec --prepare 'rm -rf out' --runs 20 'tar xf a.tar -C out'
      edgejoule exec --control 'sort a.txt' 'LC_ALL=C sort a.txt'
      edgejoule exec --env JAVA_HOME -- ./gradlew test
      edgejoule exec --dry-run 'sqlite3 a.db < q.sql' > experiment.toml

    Exit codes: 0 ok, 1 failure, 2 usage, 3 measured, with flagged runs, 130 interrupted.""",
)
@click.argument("commands", nargs=-1, metavar="[COMMAND]...")
@click.option("-r", "--runs", type=click.IntRange(1, 10_000), metavar="NUM", help="Exactly NUM runs of each command.")
@click.option(
    "--budget",
    type=Number(min=0, min_open=True, max=1e7),
    metavar="SECONDS",
    help="Time for all runs together; not with --runs.  [default: 60]",
)
@click.option(
    "-w", "--warmup", type=click.IntRange(0, 10_000), default=0, metavar="NUM", help="Runs before the measured ones."
)
@_texts("-s", "setup", "Run CMD once, before the first run of each command.")
@_texts("-p", "prepare", "Run CMD before every run; it is not measured.")
@_texts("-C", "conclude", "Run CMD after every run; it is not measured.")
@_texts("-c", "cleanup", "Run CMD once, after the last run of each command.")
@click.option(
    "-L", "--parameter-list", "lists", nargs=2, multiple=True, metavar="VAR VALUES",
    help="Run the commands with each of VALUES (separated by commas) in place of {VAR}. May be repeated: all "
    "combinations run.",
)  # fmt: skip
@click.option(
    "-P", "--parameter-scan", "scan", nargs=3, metavar="VAR MIN MAX", help="The same for the numbers from MIN to MAX."
)
@click.option(
    "-D", "--parameter-step-size", "step", metavar="DELTA", help="The step between these numbers; default: 1."
)
@click.option(
    "-S",
    "--shell",
    metavar="SHELL",
    help="The shell for quoted commands; none: they are split into arguments and run directly.",
)
@click.option("-N", "no_shell", is_flag=True, help="The same as --shell=none.")
@click.option("--input", "input_", metavar="WHERE", help="Standard input: null (default) or a file.")
@click.option(
    "--output", "outputs", multiple=True, metavar="WHERE",
    help="Where standard output and error go: null (default), a file, or pipe: the last lines are shown if the command "
    "fails.",
)  # fmt: skip
@click.option(
    "--env",
    "env",
    multiple=True,
    metavar="NAME[=VALUE]",
    help="Set an environment variable for the commands; it is stored.",
)
@click.option(
    "-i", "--ignore-failure", is_flag=True, help="Keep runs that end with another exit code than 0, and flag them."
)
@click.option(
    "-n",
    "--command-name",
    "names",
    multiple=True,
    metavar="NAME",
    help="The name of a command in the result, in the order of the commands.",
)
@click.option(
    "--phase", metavar="REGEX",
    help="Start a phase at every output line that matches. A program that buffers its output marks late. To mark "
    "exactly, write a line with the phase's name to the FIFO $EDGEJOULE_MARKS.",
)  # fmt: skip
@click.option("--control", is_flag=True, help="Run the first command twice as if it were two, to show the noise.")
@click.option("--export-json", metavar="FILE", help="Write all figures of all runs; - is standard output.")
@click.option("--export-csv", metavar="FILE", help="Write a row for each command.")
@click.option("--export-markdown", metavar="FILE", help="Write the table.")
@click.option("--meter", metavar="NAME", help="Use this meter (see `edgejoule meters`).")
@click.option("--profile", metavar="NAME", help="Board profile for the modelled meter, by name or path.")
@meter_option
@click.option("--resume", is_flag=True, help="Continue after an interruption; give the same options.")
@click.option("--dry-run", is_flag=True, help="Print the experiment as TOML, for `edgejoule run`; measure nothing.")
@store_option
@json_option
@click.pass_context
def exec_(ctx: click.Context, /, **given: Any) -> None:
    """Measure what programs cost: joules, seconds, CPU, memory.

    Give one program with its arguments after --; it runs without a shell. Or give one or more commands in quotes; the
    shell runs them, and several are compared. Most of hyperfine's options have the same names and meanings; -m, -M,
    -u, --style, --sort, --reference, --show-output, --export-asciidoc and --export-orgmode are not supported.

    The commands run in blocks; each block runs every command once, in random order. After ten blocks, exec computes how
    many runs it takes to know each mean within 5 %, and makes them if the budget allows. If the budget is too small for
    ten blocks, it makes as many as fit, at least three.
    """
    Exec(ctx.meta.get("argv"), given).run()


class Exec:
    """One call: options to a request, the request to an experiment, the experiment to a result."""

    def __init__(self, argv: Sequence[str] | None, given: dict[str, Any]) -> None:
        self.argv, self.given = argv, given

    def run(self) -> None:
        """Runs what the options request."""
        from edgejoule.cli.run_study import meter_choice
        from edgejoule.exec.spec import spec_text
        from edgejoule.experiment.read import spec_of_text
        from edgejoule.study.study import Places, check_free

        given = self.given
        request = self._request()
        self._check_exports()
        if not given["dry_run"]:
            check_free(Places.beside(given["store"]))
        options: Options = dict(given["meter_options"])
        if given["profile"]:
            options["board-profile"] = {**options.get("board-profile", {}), "profile": given["profile"]}
        choice = meter_choice(given["meter"], [], options)
        text = spec_text(
            request, choice.meter.method, meter=given["meter"], profile=given["profile"], options=given["meter_options"]
        )
        spec = spec_of_text(text, Path("exec.toml"))
        if given["dry_run"]:
            click.echo(text, nl=False)
            return
        self._measure(spec, text, choice)

    def _request(self) -> Any:
        from edgejoule.exec import options

        given = self.given
        if given["runs"] is not None and given["budget"] is not None:
            raise UsageError("--runs and --budget exclude each other: one fixes the runs, the other their time")
        if self.argv is not None and (given["shell"] not in (None, "none")):
            raise UsageError("--shell: a program behind -- is run without a shell; give it as 'COMMAND' in quotes")
        parameters = options.parameters_of(given["lists"], given["scan"], given["step"])
        known = list(parameters)
        shell = options.shell_of(given["shell"], given["no_shell"])
        commands = options.commands_of(
            given["commands"], self.argv, given["names"],
            {name: given[name] for name in ("setup", "prepare", "conclude", "cleanup")}, given["outputs"],
            shell=shell, parameters=known,
        )  # fmt: skip
        env = options.environment_of(given["env"], dict(os.environ))
        request = options.Request(
            commands=commands,
            parameters=parameters,
            runs=given["runs"],
            budget_s=BUDGET_S if given["budget"] is None else given["budget"],
            warmup=given["warmup"],
            shell=shell,
            env={name: options.escaped(value, known) for name, value in env.items()},
            stdin=options.input_of(given["input_"]),
            ignore_failure=given["ignore_failure"],
            phase=given["phase"],
            control=given["control"],
        )
        options.check_parameters(request)
        return request

    def _exports(self) -> dict[str, str]:
        kinds = ("json", "csv", "markdown")
        return {kind: target for kind in kinds if (target := self.given[f"export_{kind}"]) is not None}

    def _check_exports(self) -> None:
        """Raises UsageError before the measurement for files that cannot be written."""
        exports = self._exports()
        writers = [f"--export-{kind} -" for kind, target in exports.items() if target == "-"]
        writers += ["--json"] if self.given["as_json"] else []
        if len(writers) > 1:
            raise UsageError(f"{' and '.join(writers)}: only one of them can write to standard output; give a file")
        for kind, target in exports.items():
            if target != "-":
                check_output(f"--export-{kind}", Path(target), self.given["store"])

    def _measure(self, spec: Any, text: str, choice: Any) -> None:
        """Run the experiment and show it."""
        from edgejoule.cli.exec_progress import ExecProgress
        from edgejoule.cli.run_study import min_ratio_of
        from edgejoule.databases.checks import check_plan, not_here
        from edgejoule.experiment.plan import make_plan
        from edgejoule.findings import find
        from edgejoule.store import Store
        from edgejoule.study.study import Places, Study, conduct, continuation

        plan = make_plan(spec)
        check_plan(spec, plan, keep_going=False)
        if refused := not_here(plan):
            raise UsageError("; ".join(refused))
        say, path = messages(), self.given["store"]
        say.print(choice.line, markup=False)
        stop_in_order()
        with contextlib.ExitStack() as opened:
            choice.meter.open()
            opened.callback(choice.meter.close)
            ratio = min_ratio_of(choice.meter)
            study = Study(spec, text, [], [choice.meter], choice.sentence, ratio, Places.beside(path))
            store = opened.enter_context(Store.open(path, create=True))
            progress = opened.enter_context(ExecProgress(say, choice.meter, spec))
            resume = self.given["resume"]
            if not resume:
                resume, message = continuation(store, study, partial=False)
                if message:
                    say.print(message, markup=False)
            try:
                experiment, _ = conduct(store, study, progress, resume=resume)
            except DatabaseError as error:
                raise DatabaseError(f"{error}{self._hint(str(error))}") from error
            experiment = store.find(str(experiment.id))
            findings, runs = find(store, experiment), store.runs(experiment.id)
        self._show(experiment, findings, runs)

    def _hint(self, message: str) -> str:
        """Returns advice on a command that failed."""
        advice = ["--output pipe shows its last lines"] if message.endswith("; its output is discarded") else []
        if _EXIT_CODE.search(message) and not self.given["ignore_failure"]:
            advice.append("--ignore-failure keeps such runs")
        return f"; {', '.join(advice)}" if advice else ""

    def _show(self, experiment: Any, findings: Any, runs: Any) -> None:
        from edgejoule.exec import export as exec_export
        from edgejoule.exec import view as exec_view
        from edgejoule.exec.results import result_of

        result = result_of(experiment, findings, runs)
        exports = self._exports()
        for kind, target in exports.items():
            exec_export.write(exec_export.exported(result, kind), target)
        if self.given["as_json"]:
            echo_json(exec_export.to_json(result))
        elif "-" not in exports.values():
            exec_view.show(console(), result)
        messages().print(
            f"experiment {experiment.id} in {self.given['store']}; `edgejoule report {experiment.id}` makes its report",
            markup=False,
        )
        if result.flags():
            click.get_current_context().exit(EXIT_FLAGGED)
