"""Shares with their 95 % intervals: Wilson's, and for steps and tokens Wilson's on the effective sample."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Final

__all__ = ["Proportion", "clustered", "wilson"]

_Z: Final = 1.959963984540054
"""97.5 % quantile of the normal distribution."""


@dataclass(frozen=True, slots=True)
class Proportion:
    """`count` of `of`, with the bounds of a 95 % interval; share and bounds are None where `of` is 0."""

    count: int
    of: int
    low: float | None
    high: float | None

    @property
    def share(self) -> float | None:
        """The share itself."""
        return self.count / self.of if self.of else None


def wilson(count: int, of: int) -> Proportion:
    """Return a share of independent units, as of conversations, with its score interval.

    Wilson, Probable inference, the law of succession, and statistical inference, JASA 22 (1927); it
    keeps its coverage for small samples and shares near 0 and 1 (Brown, Cai and DasGupta 2001).
    """
    return Proportion(count, of, *_score(count / of, of)) if of else Proportion(count, of, None, None)


def clustered(pairs: Sequence[tuple[int, int]]) -> Proportion:
    """Return a share of units that come in clusters, as the steps of conversations: (count, of) of each cluster.

    Steps of one conversation resemble each other, so there are fewer of them than it seems: the score
    interval is taken on the sample size that would give the variance of the ratio over the clusters (Kish,
    Survey Sampling, 1965; the combination after Dean and Pagano 2015), never on less than the clusters
    where all agree. With few clusters it is too narrow still.
    """
    clusters = [(count, of) for count, of in pairs if of]
    count, of = sum(pair[0] for pair in clusters), sum(pair[1] for pair in clusters)
    if not of:
        return Proportion(count, of, None, None)
    share = count / of
    return Proportion(count, of, *_score(share, _effective(clusters, share, of)))


def _effective(clusters: Sequence[tuple[int, int]], share: float, of: int) -> float:
    number = len(clusters)
    spread = sum((count - share * size) ** 2 for count, size in clusters)
    if not spread or number < 2:
        return number
    variance = number / (number - 1) * spread / of**2
    return min(share * (1 - share) / variance, of)


def _score(share: float, size: float) -> tuple[float, float]:
    square = _Z**2
    centre = (share + square / (2 * size)) / (1 + square / size)
    half = _Z * sqrt(share * (1 - share) / size + square / (4 * size**2)) / (1 + square / size)
    return (0.0 if share == 0 else max(centre - half, 0.0)), (1.0 if share == 1 else min(centre + half, 1.0))
