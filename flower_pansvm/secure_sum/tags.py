"""Domain tags: the first field of everything that is hashed, derived or signed, so that no two uses share an input.

The number is the version of the format. Whoever changes what stands behind a tag gives the tag another number.
"""

PAIR = b"flower-pansvm/1/pair"  # the key of one direction between two sites
SUM = b"flower-pansvm/1/sum"  # the sub-key of such a key for one sum
NOTE = b"flower-pansvm/1/note"  # what is authenticated together with a sealed note
ORDER = b"flower-pansvm/1/order"  # the rank of a site in an order that looks random
RUN_KEYS = b"flower-pansvm/2/run-keys"  # what a site's identity signs when it joins a run
EPOCH = b"flower-pansvm/1/epoch"  # by what a hospital knows the marks of its own ledger
SLOTS = b"flower-pansvm/2/slots"  # which slots of the landmarks' matrix are whose
SECRET = b"flower-pansvm/1/secret"  # what a simulated site makes of the seed in place of secrets
ROW_BLOCK = b"flower-pansvm/1/row-block"  # mark of a cell's rows, the same for all cells of a row block
COLUMN_BLOCK = b"flower-pansvm/1/column-block"  # a site's seed of the random matrix of its column block
RANDOM_MATRIX = b"flower-pansvm/1/random-matrix"  # the stream of that matrix
PERTURBED = b"flower-pansvm/1/perturbed"  # the streams from which a hospital's copy of its table is perturbed
SIDE = b"flower-pansvm/2/side"  # which records a hospital keeps for evaluation, and their order
RECORD_MARK = b"flower-pansvm/1/record-mark"  # mark by which a hospital knows a record of it again
