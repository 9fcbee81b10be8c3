"""Compile a StableHLO file for a chip that is not there; run as a script."""

import argparse
import json
import os
import pathlib
import sysconfig
import time

# What XLA's GPU compiler asks a chip about itself.
GPUS = {
    "a100": {
        "name": "A100-SXM4-40GB",
        "compute_capability": 8,
        "core_count": 108,
        "clock_rate_ghz": 1.41,
        "memory_bandwidth": 1_555_000_000_000,
        "device_memory_size": 42_331_013_120,
        "l2_cache_size": 41_943_040,
        "shared_memory_per_core": 167_936,
        "shared_memory_per_block_optin": 166_912,
    },
    "h100": {
        "name": "NVIDIA H100 80GB HBM3",
        "compute_capability": 9,
        "core_count": 132,
        "clock_rate_ghz": 1.98,
        "memory_bandwidth": 3_350_000_000_000,
        "device_memory_size": 84_942_979_072,
        "l2_cache_size": 52_428_800,
        "shared_memory_per_core": 233_472,
        "shared_memory_per_block_optin": 232_448,
    },
}
ANY_GPU = {
    "threads_per_warp": 32,
    "threads_per_block_limit": 1024,
    "threads_per_core_limit": 2048,
    "fpus_per_core": 64,
    "shared_memory_per_block": 49_152,
    "registers_per_core_limit": 65_536,
    "registers_per_block_limit": 65_536,
    "block_dim_limit_x": 2_147_483_647,
    "block_dim_limit_y": 65_535,
    "block_dim_limit_z": 65_535,
}

# The rest is the runtime's, and what fragmentation loses.
USABLE = 0.92


def compile_for(target: str, module: str) -> dict:
    """Compile `module` for `target` and ask the compiler what it needs.

    Args:
        target: A key of `GPUS`, or a TPU topology such as "v5e:2x2".
        module: StableHLO, as text that jax can read.

    Returns:
        The fields of `AcceleratorCheck` but the target.
    """
    _prepare_environment(target)
    # jax has no public way to compile StableHLO for a described chip.
    from jax._src import compiler
    from jax._src.interpreters import mlir
    from jax._src.lib import xla_client
    from jax.experimental import topologies
    from jaxlib.mlir import ir

    if target in GPUS:
        topology = topologies.get_topology_desc(
            platform="cuda",
            topology="1x1x1",
            target_config=gpu_description(GPUS[target]),
        )
    else:
        topology = topologies.get_topology_desc(
            platform="tpu", topology_name=target
        )
    device = topology.devices[0]
    with mlir.make_ir_context():
        parsed = ir.Module.parse(module)
    started = time.monotonic()
    try:
        executable = device.client.compile(
            parsed,
            xla_client._xla.DeviceList((device,)),
            compiler.get_compile_options(num_replicas=1, num_partitions=1),
        )
    except xla_client.XlaRuntimeError as error:
        return {
            "fits": False,
            "reason": str(error),
            "compile_seconds": time.monotonic() - started,
        }
    seconds = time.monotonic() - started
    memory = executable.get_compiled_memory_stats()
    total = (
        memory.temp_size_in_bytes
        + memory.argument_size_in_bytes
        + memory.output_size_in_bytes
        - memory.alias_size_in_bytes
    )
    reason = ""
    if target in GPUS:  # the TPU's compiler has refused what does not fit
        usable = int(USABLE * GPUS[target]["device_memory_size"])
        if total > usable:
            reason = f"It needs {total} bytes; {usable} are usable."
    return {
        "fits": not reason,
        "reason": reason,
        "total_bytes": total,
        "temporary_bytes": memory.temp_size_in_bytes,
        "argument_bytes": memory.argument_size_in_bytes,
        "compile_seconds": seconds,
    }


def gpu_description(gpu: dict) -> str:
    """Write a GPU as the text proto that XLA reads."""
    gpu = dict(gpu)
    name, major = gpu.pop("name"), gpu.pop("compute_capability")
    fields = " ".join(f"{k}: {v}" for k, v in {**ANY_GPU, **gpu}.items())
    return (
        f"gpu_device_info {{ {fields} "
        f"cuda_compute_capability {{ major: {major} }} }} "
        'platform_name: "CUDA" dnn_version_info { major: 9 minor: 1 } '
        f'device_description_str: "{name}"'
    )


def _prepare_environment(target):
    os.environ["JAX_PLATFORMS"] = "cpu"
    if target in GPUS:
        nvcc = pathlib.Path(sysconfig.get_path("purelib"), "nvidia/cuda_nvcc")
        os.environ["PATH"] = f"{nvcc / 'bin'}{os.pathsep}{os.environ['PATH']}"
        # Autotuning would run kernels on the chip.
        os.environ["XLA_FLAGS"] = (
            f"--xla_gpu_cuda_data_dir={nvcc} --xla_gpu_autotune_level=0"
        )
    else:
        # libtpu waits for the metadata of a TPU host unless it is told.
        os.environ["TPU_SKIP_MDS_QUERY"] = "1"
        os.environ["TPU_ACCELERATOR_TYPE"] = "v5litepod-4"
        os.environ["TPU_WORKER_HOSTNAMES"] = "localhost"


def main():
    """Compile the module of one file, and write the answer to another."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target")
    parser.add_argument("module", type=pathlib.Path)
    parser.add_argument("answer", type=pathlib.Path)
    args = parser.parse_args()
    answer = compile_for(args.target, args.module.read_text())
    args.answer.write_text(json.dumps(answer))


if __name__ == "__main__":
    main()
