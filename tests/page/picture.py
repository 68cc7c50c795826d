"""Takes the pictures of the README: the top of the demo's report, light and dark.

python tests/page/picture.py REPORT.html FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path

from opened import browser, opened

WIDTH = 1000


def main(report: Path, folder: Path) -> None:
    """Write report-light.png and report-dark.png into the folder."""
    with browser() as started:
        for scheme in ("light", "dark"):
            with opened(started, report, width=WIDTH, height=1400, scheme=scheme) as (page, _):
                last = page.locator(".inspected").bounding_box()
                assert last is not None
                height = last["y"] + last["height"] + 12
                page.screenshot(
                    path=folder / f"report-{scheme}.png", clip={"x": 0, "y": 0, "width": WIDTH, "height": height}
                )


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
