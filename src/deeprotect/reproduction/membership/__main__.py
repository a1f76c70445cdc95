"""`python -m deeprotect.reproduction.membership --from DIR --out FILE`: the membership attack on a study's data."""

import argparse
import json
import sys
from pathlib import Path

from deeprotect.datasets.loading import load
from deeprotect.reproduction.membership.trial import MembershipFinding, run
from deeprotect.reproduction.studies import select_studies

PRIVACY = {"guarantee": "named", "epsilon": 2.0, "ldp_ceiling": 5.0}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m deeprotect.reproduction.membership", description=__doc__)
    parser.add_argument("--from", dest="directory", type=Path, help="folder with the data sets' archives")
    parser.add_argument("--out", type=Path, required=True, help="JSON file to write")
    parser.add_argument("--study", default="hapt-mode", help="whose windows, useful and sensitive inference to take")
    parser.add_argument("--bundles", type=int, default=10)
    parser.add_argument("--epochs", type=int, help="fewer than usual, for a quick trial")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    given = parser.parse_args()
    (study,) = select_studies([given.study])
    data = load(study.dataset, directory=None if study.dataset == "watch" else given.directory, rate_hz=study.rate_hz)
    policy = study.policy(data).vary(privacy=PRIVACY, training={"max_epochs": given.epochs} if given.epochs else {})
    found = run(
        study.windows(data, policy),
        policy,
        bundles=given.bundles,
        seed=given.seed,
        jobs=given.jobs,
        report=lambda done: print(f"{done} of {given.bundles} bundles", file=sys.stderr, flush=True),
    )
    body = {"study": study.name, "bundles": given.bundles, "seed": given.seed, "epochs": given.epochs}
    given.out.write_text(json.dumps(body | {"settings": [each.to_json() for each in found]}, indent=1) + "\n")
    for each in found:
        print(_lines(each))


def _lines(found: MembershipFinding) -> str:
    """A table of all attacks of one setting."""
    chance = "the strongest by chance: AUC {:.2f} on average, {:.2f} at most in 95 %".format(*found.chance)
    lines = [
        f"{each.attack:45} AUC {each.auc:.3f} ({each.auc_interval[0]:.3f}-{each.auc_interval[1]:.3f})  balanced "
        f"{each.balanced_accuracy:.3f} ({each.balanced_interval[0]:.3f}-{each.balanced_interval[1]:.3f})  "
        f"true positives at 5 % false ones {each.true_positives:.3f}"
        for each in found.successes
    ]
    return "\n".join([f"{found.setting} windows; {chance}", *lines])


if __name__ == "__main__":
    main()
