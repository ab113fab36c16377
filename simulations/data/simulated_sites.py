"""The simulated sites of a finished run, rebuilt for audits."""

from flwr.app import RecordDict

from clients.hospital import BROADCAST, Hospital, SimulatedContext, hospital_of
from clients.site import Site
from clients.table.simulated import use_tables
from flower_pansvm import records
from simulations.data import sites
from strategies.federation.transcript import TranscriptSum
from strategies.settings import Settings


class SimulatedSites:
    """The sites of a finished run, rebuilt in this process."""

    def __init__(self, settings: Settings) -> None:
        use_tables(sites)
        self.settings = settings
        self._run_config = settings.run_config
        self._broadcasts: object = None
        self._sites: list[Site] = []

    def before(self, entry: TranscriptSum) -> list[Site]:
        """Return all sites as of a sum's request, with those that had dropped out."""
        if entry.broadcasts is not self._broadcasts:
            content = RecordDict()
            for name, values in entry.broadcasts.items():
                records.put(content, BROADCAST + name, values)
            self._broadcasts = entry.broadcasts
            self._sites = [Site.of(hospital, self.settings.level) for hospital in self.hospitals()]
            for site in self._sites:
                site.keep_broadcasts(content)
        return self._sites

    def hospitals(self) -> list[Hospital]:
        """Return each site as it begins a run."""
        nodes = (
            {"partition-id": site, "num-partitions": self.settings.sites}
            for site in range(self.settings.sites)
        )
        return [
            hospital_of(SimulatedContext(0, site, dict(node), RecordDict(), self._run_config))
            for site, node in enumerate(nodes)
        ]
