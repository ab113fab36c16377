"""What each task's results are, what they are for, and what each level means, in words: `WORDS` has a line a task."""

WORDS: dict[str, tuple[str, str]] = {
    "join": (
        "Name, version and public keys of the site, names of its columns and of its classes",
        "to agree on common columns and classes, and to mask what follows",
    ),
    "moments": (
        "For each column how many cells are filled, their sum and the sum of their squares; patients of each class",
        "to bring all columns to the same scale",
    ),
    "rows": ("Patients of each class", "to count again after a site was lost"),
    "extremes": (
        "Smallest and largest cell of each column",
        "to bring all columns to the range from -1 to 1",
    ),
    "landmarks": (
        "Centres of groups of similar patients",
        "to have points to which the model compares patients",
    ),
    "warm_start": ("The site’s own weights of the model", "to begin training near the end"),
    "cuts": (
        "Sums over patients near the border between classes, for each weights that were asked about",
        "to find the best weights",
    ),
    "class_moments": (
        "For each column and class how many cells are filled, their sum and the sum of their squares",
        "to rank the columns",
    ),
    "support": ("Sums over patients near the border between classes", "to rank the columns"),
    "scores": (
        "Test patients by class and predicted class, and how many decision values lie in each of 512 bins",
        "to say how good the model is",
    ),
    "local_scores": (
        "Test patients by class and predicted class, by the site’s own model",
        "to say how good models of single sites are",
    ),
    "held_out": ("Test patients’ rows, without their class", "to have all sites vote on them"),
    "votes": (
        "Class of each test patient by the site’s own model",
        "to find the class that most sites vote for",
    ),
    "ensemble_scores": (
        "Test patients by class and the class that most sites voted for",
        "to say how good the votes are",
    ),
    "consensus": ("The site’s own weights of the model, step by step", "to draw the sites’ models together"),
    "column_votes": (
        "Which columns tell the classes apart at the site",
        "to keep those that most sites name",
    ),
    "distorted_rows": ("A distorted copy of every patient, with the class", "to train on the copies"),
    "weak_models": (
        "The site’s own description of each class: means and spreads of groups of similar patients",
        "to draw invented patients from it, on which the model is trained",
    ),
    "mixture_scores": (
        "Test patients by class and predicted class, and how many decision values lie in each of 512 bins",
        "to say how good the model is",
    ),
    "cell": ("How many patients the site has", "to agree on the size of the random matrix"),
    "means": ("For each column how many cells are filled, and their sum", "to fill missing cells"),
    "column_ranges": ("Smallest and largest cell of each column", "to bring all columns to the same range"),
    "kernel": (
        "Numbers made of each patient’s row and a secret random matrix, and the class",
        "to train on these numbers",
    ),
    "kernel_points": (
        "The same numbers of the test patients, and their class",
        "to say how good the model is",
    ),
    "ranges": ("Smallest and largest cell of each column of simulated sites", "to stand for public ranges"),
    "public_rows": ("Rows that simulated sites call public", "to choose the model’s form"),
    "private_bins": ("How many patients lie in each part of a column’s range", "to choose the model’s form"),
    "private_moments": ("Sums of products of the model’s coordinates", "to find the first weights"),
    "private_step": ("How the loss changes with the weights", "to better the weights"),
    "private_scores": (
        "Test patients by class, and by whether the model is right",
        "to say how good the model is",
    ),
    "model_test": (
        "Test patients by class, and by whether the model is right",
        "to say how good the model is for true records",
    ),
    "rff_cuts": ("Sums over patients near the border between classes", "to find the best weights"),
    "rff_scores": (
        "Test patients by class and predicted class, and how many decision values lie in each of 512 bins",
        "to say how good the model is",
    ),
    "local_weights": ("The site’s own weights of the model", "to take their mean as the model"),
    "rff_private_scores": ("Test patients by class and predicted class", "to say how good the model is"),
}
"""By task: what leaves a site, and what for."""

WAYS: dict[str, str] = {
    "exact": "masked: only the sum over all sites can be read",
    "perturbed": "masked, and of a copy of the table with noise in each cell: only the sum over all sites can be read",
    "dp": "masked, with noise for differential privacy: only the sum over all sites can be read",
    "disclosed": "as it is: the coordinator reads what each site has sent",
}
"""How results leave."""

KEEPS: dict[str, str] = {
    "exact": "Other hospitals see no sum. Whoever runs the coordinator can compute most records of a small table.",
    "perturbed": "Nobody, the coordinator included, comes much nearer to a measurement than this noise, however "
    "often they ask. Someone who knows a patient’s record can tell that it took part. Of columns that follow each "
    "other, such as genes, the copies give most of a record back.",
    "dp": "Nobody who sees the sums, the coordinator included, can tell for sure whether a patient’s record took "
    "part: ε and δ bound it (see “Differential privacy”).",
}
"""What each level keeps from whom."""


def made_of(level: str, noise: float | None) -> str:
    """Return which records the answers of a run were made of."""
    return {
        "exact": "What left the hospitals was computed from their true records (level exact).",
        "perturbed": "What left the hospitals was computed from a copy of each one’s table (level perturbed). In the "
        f"copy every measurement carries noise of {noise or 0.0:g} standard deviations of its column, and some codes "
        "and classes are drawn anew.",
        "dp": "What left the hospitals was computed from their true records, with noise in each sum (level dp).",
    }[level]
