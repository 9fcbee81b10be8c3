"""Compile a StableHLO file for a chip that is not there; run as a script."""

import argparse
import json
import os
import pathlib
import sysconfig
import time

# What all GPUs have in common, unless one says otherwise.
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


def compile_for(chip: dict, module: str) -> dict:
    """Compile `module` for a chip and ask the compiler what it needs.

    Args:
        chip: What `Chip.description` returned.
        module: StableHLO, as text that jax can read.

    Returns:
        The fields of `AcceleratorCheck` but the target.
    """
    _prepare_environment(chip)
    # jax has no public way to compile StableHLO for a described chip.
    from jax._src import compiler
    from jax._src.interpreters import mlir
    from jax._src.lib import xla_client
    from jax.experimental import topologies
    from jaxlib.mlir import ir

    if chip["gpu"]:
        topology = topologies.get_topology_desc(
            platform="cuda",
            topology="1x1x1",
            target_config=gpu_description(chip),
        )
    else:
        topology = topologies.get_topology_desc(
            platform="tpu", topology_name=chip["topology"][0]
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
    if chip["gpu"]:  # the TPU's compiler has refused what does not fit
        usable = chip["usable_bytes"]
        if total > usable:
            reason = f"It needs {total} bytes; {usable} are usable."
    return {
        "fits": not reason,
        "reason": reason,
        "total_bytes": total,
        "temporary_bytes": memory.temp_size_in_bytes,
        "argument_bytes": memory.argument_size_in_bytes,
        "compile_seconds": seconds,
        **_cost(chip, executable, module),
    }


def _cost(chip, executable, module):
    """Bytes moved and FLOPs; the body of a loop is gone through once."""
    import jax
    from jax._src.lib import xla_client

    (optimized,) = executable.hlo_modules()
    if chip["gpu"]:  # whose compiler does not count
        xla = xla_client._xla
        cpu = jax.devices("cpu")[0].client
        given = xla.mlir.mlir_module_to_xla_computation(
            module, use_tuple_args=False, return_tuple=False
        ).get_hlo_module()
        # Products may become calls of libraries, which say nothing of FLOPs.
        flops = xla.hlo_module_cost_analysis(cpu, given)["flops"]
        moved = xla.hlo_module_cost_analysis(cpu, optimized)["bytes accessed"]
    else:
        cost = executable.cost_analysis()
        flops, moved = cost["flops"], cost["bytes accessed"]
    return {
        "bytes_moved": int(moved),
        "flops": int(flops),
        "num_loops": optimized.to_string().count(" while("),
    }


def gpu_description(chip: dict) -> str:
    """Write a GPU as the text proto that XLA reads."""
    gpu = {
        **ANY_GPU,
        **chip["gpu"],
        "memory_bandwidth": int(chip["bandwidth"]),
        "device_memory_size": chip["memory_bytes"],
    }
    name, (major, minor) = gpu.pop("name"), gpu.pop("compute_capability")
    fields = " ".join(f"{k}: {v}" for k, v in gpu.items())
    return (
        f"gpu_device_info {{ {fields} "
        f"cuda_compute_capability {{ major: {major} minor: {minor} }} }} "
        'platform_name: "CUDA" dnn_version_info { major: 9 minor: 1 } '
        f'device_description_str: "{name}"'
    )


def _prepare_environment(chip):
    os.environ["JAX_PLATFORMS"] = "cpu"
    if chip["gpu"]:
        nvcc = pathlib.Path(sysconfig.get_path("purelib"), "nvidia/cuda_nvcc")
        os.environ["PATH"] = f"{nvcc / 'bin'}{os.pathsep}{os.environ['PATH']}"
        # Autotuning would run kernels on the chip.
        os.environ["XLA_FLAGS"] = (
            f"--xla_gpu_cuda_data_dir={nvcc} --xla_gpu_autotune_level=0"
        )
    else:
        # libtpu waits for the metadata of a TPU host unless it is told.
        os.environ["TPU_SKIP_MDS_QUERY"] = "1"
        os.environ["TPU_ACCELERATOR_TYPE"] = chip["topology"][1]
        os.environ["TPU_WORKER_HOSTNAMES"] = "localhost"


def main():
    """Compile the module of one file, and write the answer to another."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("chip", type=json.loads)
    parser.add_argument("module", type=pathlib.Path)
    parser.add_argument("answer", type=pathlib.Path)
    args = parser.parse_args()
    answer = compile_for(args.chip, args.module.read_text())
    args.answer.write_text(json.dumps(answer))


if __name__ == "__main__":
    main()
