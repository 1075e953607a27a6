/**
 * The wall beneath Deno's: system calls that a kernel has no use for once its connection stands are refused by the system itself.
 * Links above all: Deno judges a path as it is written and then follows links, and its WASI makes them.
 *
 * @module
 */

/** By the names of Linux; on x86-64, then on arm64, where some of the older ones do not exist. */
const REFUSED: Record<string, readonly [number, number | null]> = {
  symlink: [88, null],
  symlinkat: [266, 36],
  link: [86, null],
  linkat: [265, 37],
  mknod: [133, null],
  mknodat: [259, 33],
  execve: [59, 221],
  execveat: [322, 281],
  fork: [57, null],
  vfork: [58, null],
  socket: [41, 198],
  connect: [42, 203],
  bind: [49, 200],
  listen: [50, 201],
  accept: [43, 202],
  accept4: [288, 242],
  kill: [62, 129],
  tkill: [200, 130],
  pidfd_open: [434, 434],
  pidfd_send_signal: [424, 424],
  pidfd_getfd: [438, 438],
  ptrace: [101, 117],
  process_vm_readv: [310, 270],
  process_vm_writev: [311, 271],
  chroot: [161, 51],
  pivot_root: [155, 41],
  mount: [165, 40],
  umount2: [166, 39],
  open_tree: [428, 428],
  move_mount: [429, 429],
  fsopen: [430, 430],
  mount_setattr: [442, 442],
  unshare: [272, 97],
  setns: [308, 268],
  name_to_handle_at: [303, 264],
  open_by_handle_at: [304, 265],
  bpf: [321, 280],
  perf_event_open: [298, 241],
  io_uring_setup: [425, 425],
  userfaultfd: [323, 282],
  add_key: [248, 217],
  request_key: [249, 218],
  keyctl: [250, 219],
  init_module: [175, 105],
  finit_module: [313, 273],
  kexec_load: [246, 104],
  personality: [135, 92],
};

interface Machine {
  /** As the system names it to a filter. */
  readonly audit: number;
  readonly column: 0 | 1;
  readonly prctl: number;
  readonly seccomp: number;
}
const MACHINES: Record<string, Machine> = {
  x86_64: { audit: 0xc000003e, column: 0, prctl: 157, seccomp: 317 },
  aarch64: { audit: 0xc00000b7, column: 1, prctl: 167, seccomp: 277 },
};

const NO_NEW_PRIVS = 38;
const SET_MODE_FILTER = 1;
/** For all threads that there are; those that they start inherit it. */
const ALL_THREADS = 1;
const LOAD = 0x20;
const IF_EQUAL = 0x15;
const IF_AT_LEAST = 0x35;
const RETURN = 0x06;
const ALLOW = 0x7fff0000;
/** With EPERM. */
const REFUSE = 0x00050001;
const KILL = 0x80000000;
/** Numbers of another interface to the same calls. */
const X32 = 0x40000000;

type Instruction = readonly [code: number, ifTrue: number, ifFalse: number, value: number];

export function filterFor({ audit, column }: Pick<Machine, "audit" | "column">): Instruction[] {
  const numbers = Object.values(REFUSED).flatMap((columns) => columns[column] ?? []);
  const checks = [
    ...(column === 0 ? [[IF_AT_LEAST, X32] as const] : []),
    ...numbers.map((number) => [IF_EQUAL, number] as const),
  ];
  return [
    [LOAD, 0, 0, 4],
    [IF_EQUAL, 1, 0, audit],
    [RETURN, 0, 0, KILL],
    [LOAD, 0, 0, 0],
    // Each jumps over the checks after it, and over the answer of those who pass them all.
    ...checks.map(([code, value], at): Instruction => [code, checks.length - at, 0, value]),
    [RETURN, 0, 0, ALLOW],
    [RETURN, 0, 0, REFUSE],
  ];
}

interface DenoFfi {
  build: { os: string; arch: string };
  dlopen(
    library: string,
    symbols: object,
  ): { symbols: { syscall(...args: (bigint | Uint8Array | null)[]): bigint } };
  permissions: { revokeSync(permission: { name: "ffi" }): unknown };
  UnsafePointer: { of(data: Uint8Array): object; value(pointer: object): bigint };
}

/** Throws where the system cannot do it. Other systems than Linux have no such filter: there Deno is alone. */
export function refuseSystemCalls(): void {
  const { Deno } = globalThis as unknown as { Deno: DenoFfi };
  if (Deno.build.os !== "linux") return;
  const machine = MACHINES[Deno.build.arch];
  if (!machine) throw new Error(`no filter of system calls for ${Deno.build.arch}`);
  const filter = bytesOf(filterFor(machine));
  const program = new Uint8Array(16);
  const view = new DataView(program.buffer);
  view.setUint16(0, filter.length / 8, true);
  view.setBigUint64(8, Deno.UnsafePointer.value(Deno.UnsafePointer.of(filter)), true);
  const parameters = ["i64", "i64", "i64", "buffer", "i64", "i64"];
  const { symbols } = Deno.dlopen("libc.so.6", { syscall: { parameters, result: "i64" } });
  const call = (number: number, first: number, second: number, third: Uint8Array<ArrayBuffer> | null) => {
    if (symbols.syscall(BigInt(number), BigInt(first), BigInt(second), third, 0n, 0n) !== 0n)
      throw new Error("this system does not let a process filter its own system calls (seccomp)");
  };
  call(machine.prctl, NO_NEW_PRIVS, 1, null);
  call(machine.seccomp, SET_MODE_FILTER, ALL_THREADS, program);
  Deno.permissions.revokeSync({ name: "ffi" });
}

function bytesOf(instructions: readonly Instruction[]): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(instructions.length * 8);
  const view = new DataView(bytes.buffer);
  instructions.forEach(([code, ifTrue, ifFalse, value], at) => {
    view.setUint16(at * 8, code, true);
    view.setUint8(at * 8 + 2, ifTrue);
    view.setUint8(at * 8 + 3, ifFalse);
    view.setUint32(at * 8 + 4, value, true);
  });
  return bytes;
}
