import numpy as np
from flower_pansvm.secagg import SecureAggregation
from flwr.app import ArrayRecord, Context
from flwr.serverapp import Grid, ServerApp
from flwr.serverapp.strategy import FedAvg

app = ServerApp()


@app.main()
def main(grid: Grid, context: Context) -> None:
    shapes, rng = ((64, 16), (16,), (16, 10), (10,)), np.random.default_rng(0)
    weights = ArrayRecord([rng.normal(0, 0.1, shape).astype(np.float32) for shape in shapes])
    strategy = SecureAggregation(
        FedAvg(fraction_evaluate=0.0), protocol=str(context.run_config["protocol"]), bound=16.0
    )
    result = strategy.start(grid, weights, num_rounds=5)
    print(f"accuracy {result.train_metrics_clientapp[5]['accuracy']:.3f}")
