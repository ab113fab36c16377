"""The simulated sites of a finished run, rebuilt for audits."""

from flwr.app import RecordDict

from clients.hospital import BROADCAST
from clients.site import Site
from clients.table.simulated import simulated_hospitals, use_tables
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
            hospitals = simulated_hospitals(self.settings.sites, self._run_config)
            self._sites = [Site.of(hospital, self.settings.level) for hospital in hospitals]
            for site in self._sites:
                site.keep_broadcasts(content)
        return self._sites
