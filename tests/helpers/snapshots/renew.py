"""`make snapshots`: write the snapshots anew, and remove those that nothing makes any more."""

import shutil

from tests.helpers.snapshots.stacks import SETTINGS, SNAPSHOTS, files, plan_of, recorded, written


def renew(name: str) -> int:
    """Write one environment's snapshot; return how many of its files changed."""
    plan = plan_of(name)
    before, now = written(name), files(plan, recorded(plan))
    for path in before.keys() - now.keys():
        (SNAPSHOTS / name / path).unlink()
    for path, text in now.items():
        if before.get(path) != text:
            target = SNAPSHOTS / name / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)
    return sum(before.get(path) != now.get(path) for path in before.keys() | now.keys())


def main() -> None:
    """Renew every environment's snapshot."""
    for stale in SNAPSHOTS.iterdir():
        if stale.is_dir() and stale.name not in {*SETTINGS, "__pycache__"}:
            shutil.rmtree(stale)
    for name in SETTINGS:
        print(f"{name}: {renew(name)} files changed")


if __name__ == "__main__":
    main()
