"""The simulated sites of a finished run once more: what they would answer, and the rows they would answer from."""

from flwr.app import RecordDict

from clients.hospital import BROADCAST, Hospital, SimulatedContext, hospital_of
from clients.site import Site
from clients.table.simulated import use_tables
from flower_pansvm import records
from simulations.data import sites
from strategies.federation.transcript import TranscriptSum
from strategies.settings import Settings


class SimulatedSites:
    """The sites of a finished run once more, in this process."""

    def __init__(self, settings: Settings) -> None:
        use_tables(sites)
        self.settings = settings
        self._run_config = settings.run_config
        self._told: object = None
        self._sites: list[Site] = []

    def before(self, asked: TranscriptSum) -> list[Site]:
        """Return all sites as they were when they were asked for a sum, lost ones too."""
        if asked.broadcasts is not self._told:
            content = RecordDict()
            for name, values in asked.broadcasts.items():
                records.put(content, BROADCAST + name, values)
            self._told = asked.broadcasts
            self._sites = [Site.of(hospital, self.settings.level) for hospital in self.hospitals()]
            for site in self._sites:
                site.keep_broadcasts(content)
        return self._sites

    def hospitals(self) -> list[Hospital]:
        """Return what each site has, as it begins a run."""
        nodes = (
            {"partition-id": number, "num-partitions": self.settings.sites}
            for number in range(self.settings.sites)
        )
        return [
            hospital_of(SimulatedContext(0, number, dict(node), RecordDict(), self._run_config))
            for number, node in enumerate(nodes)
        ]
