"""The sections of the report, in the order of the page: a new one is a row here, a function and a template."""

from strategies.report import clinician, engineer, study
from strategies.report.section import Result, Section

FOR_CLINICIANS = [
    Section("How often the model is right", ("accuracy", "classes"), clinician.accuracy),
    Section("What is kept from whom", ("level",), clinician.level, headline=clinician.level_headline),
    Section("The patients", (), clinician.patients),
    Section("The study", ("predictors", "about"), study.study),
    Section("Which patients it gets wrong", ("confusion", "classes"), clinician.mistakes),
    Section("For whom it is how good", ("subgroups", "classes"), clinician.subgroups),
    Section("With other thresholds", ("decision_groups", "classes"), clinician.thresholds),
    Section("How far to trust its certainty", ("decision_groups", "classes"), clinician.certainty),
]

FOR_ENGINEERS = [
    Section(
        "Differential privacy of what is released",
        ("guarantee",),
        engineer.guarantee,
        headline=engineer.guarantee_headline,
    ),
    Section("Differential privacy", ("privacy",), engineer.privacy, headline=engineer.privacy_headline),
    Section("Model choice", ("chosen",), engineer.model_choice, headline=engineer.model_choice_headline),
    Section(
        "Feature selection",
        ("selected", "ranking", "accuracy_by_count", "votes"),
        engineer.selection,
        headline=engineer.selection_headline,
    ),
    Section(
        "Convergence",
        ("convergence", "objective", "tolerance", "converged", "cut_rounds", "landmarks", "rank"),
        engineer.convergence,
        headline=engineer.convergence_headline,
    ),
    Section("What a curious coordinator could find", ("audit",), engineer.audit),
    Section("What left each site", ("disclosed",), engineer.departures),
    Section("Time", ("phases",), engineer.time),
    Section("Settings and versions", ("config", "versions"), engineer.settings),
]


def shown(sections: list[Section], result: Result) -> list[Section]:
    """Return the sections of a list for which a result has the figures."""
    return [section for section in sections if all(result.get(name) is not None for name in section.figures)]
