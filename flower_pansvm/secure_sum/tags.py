"""Domain tags: the first field of every input of a hash, derivation or signature, so that no two uses share an input.

The number is the version of the format. A change of the fields behind a tag changes its number. How the fields become
one input, :func:`join_fields` says.
"""

PAIR = b"flower-pansvm/1/pair"  # the key of one direction between two sites
SUM = b"flower-pansvm/1/sum"  # the sub-key of such a key for one sum
NOTE = b"flower-pansvm/1/note"  # the associated data of a sealed note
ORDER = b"flower-pansvm/1/order"  # the rank of a site in a pseudorandom order
RUN_KEYS = b"flower-pansvm/2/run-keys"  # the keys that a site's identity signs when it joins a run
EPOCH = b"flower-pansvm/1/epoch"  # the marks of a hospital's own ledger
SLOTS = b"flower-pansvm/2/slots"  # the assignment of the landmarks' slots to sites
SECRET = b"flower-pansvm/1/secret"  # a simulated site's secrets, from the seed
ROW_BLOCK = b"flower-pansvm/1/row-block"  # mark of a cell's rows, the same for all cells of a row block
COLUMN_BLOCK = b"flower-pansvm/1/column-block"  # a site's seed of the random matrix of its column block
RANDOM_MATRIX = b"flower-pansvm/1/random-matrix"  # the stream of that matrix
PERTURBED = b"flower-pansvm/1/perturbed"  # the streams from which a hospital's copy of its table is perturbed
SIDE = b"flower-pansvm/2/side"  # the split of a hospital's records for training and test, and their order
RECORD_MARK = b"flower-pansvm/1/record-mark"  # mark by which a hospital recognises one of its records


def join_fields(*fields: bytes) -> bytes:
    """Return the fields one after the other, each with its length in front as eight bytes."""
    return b"".join(len(field).to_bytes(8, "big") + field for field in fields)
