"""/metrics: the service's numbers in the text form that Prometheus reads."""

from collections.abc import Callable, Iterator, Sequence

from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from channels.web.operations import Number

PREFIX = "channels_"
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class _Numbers(Collector):
    def __init__(self, numbers: Callable[[], Sequence[Number]]) -> None:
        self._numbers = numbers

    def collect(self) -> Iterator[Metric]:
        families: dict[str, Metric] = {}
        for number in self._numbers():
            family = families.get(number.name)
            if family is None:
                family = families[number.name] = _family(number)
            name = f"{family.name}_total" if number.kind == "counter" else family.name
            family.add_sample(name, dict(number.labels), number.value)
        yield from families.values()

    def describe(self) -> Iterator[Metric]:
        return iter(())  # names are known only when asked; without this the registry would ask while it is being built


class Metrics:
    """Renders the numbers of one service, and the process's own (memory, CPU, descriptors), on its own registry."""

    def __init__(self, numbers: Callable[[], Sequence[Number]]) -> None:
        self._registry = CollectorRegistry()
        self._registry.register(_Numbers(numbers))
        ProcessCollector(namespace=PREFIX.rstrip("_"), registry=self._registry)

    def render(self) -> bytes:
        return generate_latest(self._registry)


def _family(number: Number) -> Metric:
    name = PREFIX + number.name.removesuffix("_total")
    text = number.help or number.name.replace("_", " ")
    return (CounterMetricFamily if number.kind == "counter" else GaugeMetricFamily)(name, text)
