"""The simulated sites of a finished run once more: what they would answer, and the rows they would answer from."""

from flwr.app import RecordDict

from clients.gate import broadcasts
from clients.gate.blur import SECRET, SITES, secret_of
from clients.gate.simulated import SimulatedContext
from clients.site import Site
from flower_pansvm import records
from strategies.federation.transcript import TranscriptSum
from strategies.settings import Settings


class SimulatedSites:
    """The sites of a finished run once more, in this process.

    Parameters
    ----------
    settings : Settings
        Settings of the run.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._run_config = settings.run_config
        self._told: object = None
        self._sites: list[Site] = []

    def before(self, asked: TranscriptSum) -> list[Site]:
        """Return all sites as they were when they were asked for a sum, lost ones too."""
        if asked.told is not self._told:
            content = RecordDict()
            for name, values in asked.told.items():
                records.put(content, broadcasts.PREFIX + name, values)
            self._told = asked.told
            self._sites = [self._site(number, content) for number in range(self.settings.sites)]
        return self._sites

    def _site(self, number: int, told: RecordDict) -> Site:
        node = {"partition-id": number, "num-partitions": self.settings.sites}
        context = SimulatedContext(0, number, dict(node), RecordDict(), self._run_config)
        broadcasts.keep(context, told)
        site = Site(context)
        site.first(SECRET, secret_of(site))
        site.first(SITES, self.settings.sites)
        return site


def simulated_secrets(settings: Settings) -> list[bytes]:
    """Return the lasting secret of each simulated site of a run, which follows from the settings."""
    config, sites = settings.run_config, settings.sites
    nodes = ({"partition-id": number, "num-partitions": sites} for number in range(sites))
    return [
        secret_of(Site(SimulatedContext(0, number, dict(node), RecordDict(), config)))
        for number, node in enumerate(nodes)
    ]
