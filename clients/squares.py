"""Counts of test rows by patient, of one model a run."""

from clients.hospital import DIGESTS
from clients.site import Site
from flower_pansvm import records
from flower_pansvm.arrays import Floats, Ints
from flower_pansvm.counts import patient_squares


def squares_of(site: Site, predicted: Ints, question: object) -> Floats:
    """Return the sums of products of counts by patient over the test rows, for one question and broadcasts a run.

    Those of two models would reveal which of the rows between them are of the same patient.
    """
    refusal = (
        "to count by patient twice in this run: the counts of two models reveal which rows are of one patient"
    )
    key = {**records.get(site.state, DIGESTS), "question": records.digest(records.values_of(question))}
    site.require_same("squares", records.digest(key), refusal)
    test, classes = site.test(), len(site.schema().classes)
    site.check_size(4.0 * classes**2)
    return patient_squares(test.classes, predicted, test.patients, classes)
