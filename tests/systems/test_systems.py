"""What every system refuses, how its answers leave, and that audit and report know it.

What a strategy has to do besides, with every secure sum and engine, is in :mod:`simulations.testing`; what a system
computes is in a file of its own.
"""

import html
import json
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from clients.gate import pipeline
from clients.gate.private import Private
from clients.gate.reply import encode_reply
from flower_pansvm.constraints import key_of
from flower_pansvm.errors import PanSVMError, SettingError
from flower_pansvm.models.model import load_model
from flower_pansvm.systems.common import JOIN
from flower_pansvm.tasks import Broadcast
from simulations.attack.audit import audit
from simulations.engines.in_process import InProcessGrid, in_process_grid
from strategies.app import run
from strategies.federation.federation import Federation
from strategies.report.page import headline, write_report
from strategies.results import describe
from strategies.settings import Settings, make_settings
from tests.strategies.conftest import trained
from tests.systems.declarations import ENSEMBLE, RANDOM_KERNEL, SYSTEMS, System, Wrong
from tests.tasks import TASKS


def settings_of(system: System, **more: Any) -> Settings:
    return make_settings(**{"strategy": system.strategy, **system.settings, **more})


def at_hospitals(system: System, **more: Any) -> Settings:
    return make_settings(strategy=system.strategy, sites=3, **(system.at_hospitals or {}), **more)


def each(cases: Callable[[System], Iterable[Any]]) -> Any:
    """Return a parametrisation by system and each of its cases."""
    return pytest.mark.parametrize(
        ("system", "case"),
        [
            pytest.param(system, case, marks=[pytest.mark.slow] * system.slow, id=f"{system.strategy} {case}")
            for system in SYSTEMS
            for case in cases(system)
        ],
    )


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Return a dictionary that gets what the coordinator asks and tells the sites last, by name."""
    seen: dict[str, Any] = {}

    def note(message: Any, sent: Any) -> Any:
        seen[message.name] = sent
        return sent

    on_its_way(monkeypatch, note)
    return seen


def on_its_way(monkeypatch: pytest.MonkeyPatch, change: Callable[[Any, Any], Any]) -> None:
    """Have questions and broadcasts changed by a function of task or broadcast, and of what is sent."""
    for verb in ("secure_sum", "collect", "broadcast"):
        real = getattr(Federation, verb)

        def changed(
            self: Federation, message: Any, sent: Any, *rest: Any, real: Any = real, **named: Any
        ) -> Any:
            return real(self, message, change(message, sent), *rest, **named)

        monkeypatch.setattr(Federation, verb, changed)


@each(lambda system: system.misspelt)
def test_a_setting_that_cannot_be_is_named(system: System, case: dict[str, Any]) -> None:
    with pytest.raises(SettingError) as caught:
        settings_of(system, **case)
    assert key_of(list(case)[-1]) in str(caught.value)


@each(lambda system: system.questions + system.broadcasts)
def test_a_site_refuses(system: System, case: Wrong, monkeypatch: pytest.MonkeyPatch) -> None:
    on_its_way(monkeypatch, lambda message, sent: case(sent) if message == case.message else sent)
    grid = in_process_grid(settings_of(system))
    with pytest.raises(case.error):
        trained(settings_of(system), grid)
    # Refused by the sites, whatever the coordinator does.
    assert case.unbounded or any(reply.has_error() for reply in grid.replies)


@each(lambda system: system.once)
def test_a_site_answers_one_question_a_run(system: System, case: Wrong, asked: dict[str, Any]) -> None:
    federation = trained(settings_of(system)).federation
    task = case.after or case.message
    ask: Any = federation.secure_sum if task.summed else federation.collect  # type: ignore[union-attr]
    question, other = asked[task.name], case(asked[case.message.name])
    if isinstance(case.message, Broadcast):
        federation.broadcast(case.message, other)
    else:
        ask(task, question)
        question = other
    with pytest.raises(case.error):
        ask(task, question)


@each(lambda system: system.answers)
def test_an_answer_that_cannot_be_ends_the_run(
    system: System, case: Wrong, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lying(task: Any, answer: Any, *rest: Any) -> Any:
        if task is case.message:
            answer = (
                replace(answer, answer=case(answer.answer)) if isinstance(answer, Private) else case(answer)
            )
        return encode_reply(task, answer, *rest)

    monkeypatch.setattr(pipeline, "encode_reply", lying)
    with pytest.raises(case.error) as caught:
        trained(settings_of(system))
    # A sum does not say which site it was.
    assert case.message.summed or "'site-000'" in str(caught.value)  # type: ignore[union-attr]


@each(lambda system: system.consents)
def test_nothing_leaves_a_hospital_without_its_consent(
    system: System, case: str, hospitals: Callable[..., InProcessGrid], hospital_files: list[Path]
) -> None:
    settings = at_hospitals(system, privacy="exact")
    pins = {name: value for name, value in system.agreed.items() if name != case}
    grid = hospitals(settings, hospital_files, pins)
    with pytest.raises(PanSVMError, match=f"{case}='agreed'"):
        trained(settings, grid)
    with_consent = {task.message_type for task in TASKS if case in task.consents}
    assert with_consent
    assert not any(
        reply.has_content() and reply.metadata.message_type in with_consent for reply in grid.replies
    )


@each(lambda system: ["perturbed"] if system.at_hospitals is not None else [])
def test_a_hospital_takes_part_at_its_level_only(
    system: System, case: str, hospitals: Callable[..., InProcessGrid], hospital_files: list[Path]
) -> None:
    settings = at_hospitals(system, privacy="exact")
    grid = hospitals(settings, hospital_files, {**system.agreed, "privacy": case})
    with pytest.raises(SettingError, match="exact"):
        trained(settings, grid)
    assert not any(reply.has_content() for reply in grid.replies)
    agreed = trained(settings, hospitals(settings, hospital_files, system.agreed, run_id=2))
    accuracy = agreed.outcome.evaluation.accuracy
    assert accuracy is not None
    # Of two columns a random matrix has one row, which no hospital can foresee: such a model may be of no use.
    assert accuracy > (0.0 if system is RANDOM_KERNEL else 0.5)


# An ensemble votes on test rows, and is refused without some.
@each(lambda system: [] if system is ENSEMBLE else [0.0])
def test_without_test_rows_nothing_is_measured(system: System, case: float) -> None:
    settings = settings_of(system, test_fraction=case)
    result = describe(trained(settings), settings)
    assert (result["accuracy"], result["rows_test"]) == (None, 0)


@pytest.mark.parametrize(
    "system",
    [pytest.param(one, marks=[pytest.mark.slow] * one.slow, id=one.strategy) for one in SYSTEMS],
)
def test_a_run_says_what_has_left_and_audit_report_and_model_file_agree(
    system: System, tmp_path: Path
) -> None:
    settings = settings_of(system, audit=True, out=str(tmp_path))
    run(in_process_grid(settings), settings, tmp_path)
    result = json.loads((tmp_path / "result.json").read_text())
    leaves = {(one["task"], one["result"]): one["how"] for one in result["disclosed"]}
    joining = {(JOIN.name, part): "disclosed" for part in JOIN.disclosed}
    assert leaves.items() >= joining.items()
    assert not system.leaves or leaves == {**joining, **system.leaves}
    # Copies are perturbed by noise of a size that is told; at the other levels there is none in them.
    assert (result["noise"] is None) == (result["level"] != "perturbed")
    found = audit(settings, tmp_path)
    assert found.not_examined == list(system.not_examined)
    counted = {**found.entries, **found.numbers}
    assert {name: counted[name] for name in system.audited} == {
        name: expected(result) for name, expected in system.audited.items()
    }
    page = write_report(tmp_path).read_text()
    assert system.strategy in page
    assert html.escape(headline(result)["test accuracy"]) in page
    if (tmp_path / "model.npz").exists():
        assert load_model(tmp_path / "model.npz").sha256() == result["model_sha256"]
    else:
        assert result["model_sha256"] is None
