"""The radius of the divergence ball that a learner moved in."""

from __future__ import annotations

from sklearn.utils.validation import check_is_fitted

from ..learners import Selection


class InBall:
    """What estimators report of a learner that moves in a divergence ball."""

    selection_: Selection

    @property
    def rho_(self) -> float:
        """rho, the radius that problem (4) or (9) of Sinha & Duchi 2016 was solved with.

        A setting ``radius`` is the same as a share of the largest useful rho, N^(k-1) - 1.
        """
        check_is_fitted(self, "selection_")
        if "rho" not in self.selection_.stats:
            raise AttributeError(
                f"{type(self).__name__} has no rho_: its learner does not move in a divergence "
                "ball. Alignment and JointMargin do."
            )
        return float(self.selection_.stats["rho"])
