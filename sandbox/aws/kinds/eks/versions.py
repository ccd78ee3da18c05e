"""The Kubernetes versions that EKS offers.

Source: endoflife.date/amazon-eks (as of February 2026: 1.32 to 1.35 with the days on which their
support ends) and the EKS user guide's page kubernetes-versions, whose example of the newest version
is 1.36 in its latest stored copy. 1.31 is left out: its extended support ended on 2026-11-26. The
control plane in the sandbox is v1.36 whichever of them is asked for.
"""

from typing import Final

VERSIONS: Final = ("1.32", "1.33", "1.34", "1.35", "1.36")
