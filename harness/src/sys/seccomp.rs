//! A seccomp filter that stops the calls asked for and lets every other call pass at full speed.
//!
//! The kernel decides in place: a call that is not asked for costs no stop. Classic BPF; the layout of `seccomp_data` is that of
//! seccomp(2): `nr` at 0, `arch` at 4, arguments of 64 bits from 16 on.

/// One condition under which a call stops.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// The system call's number.
    pub number: u32,
    /// Only when this argument has one of these bits, or this value.
    pub when: When,
    /// What the kernel does then.
    pub action: Verb,
}

/// A condition on an argument, of which the low 32 bits are looked at.
#[derive(Clone, Copy, Debug)]
pub enum When {
    /// Always.
    Always,
    /// Any of these bits is set in that argument.
    AnyBit(u32, u32),
    /// That argument has this value.
    Equals(u32, u32),
    /// Both arguments have any of their bits set.
    BothBits((u32, u32), (u32, u32)),
}

/// What the kernel does with a call.
#[derive(Clone, Copy, Debug)]
pub enum Verb {
    /// Stop it for the tracer.
    Trace,
    /// Refuse it with EPERM.
    Refuse,
}

/// The rules of one calling convention.
#[derive(Clone, Debug)]
pub struct Table {
    /// The `AUDIT_ARCH_*` value.
    pub arch: u32,
    /// Its rules.
    pub rules: Vec<Rule>,
}

/// x86_64's `AUDIT_ARCH` value.
pub const ARCH_X86_64: u32 = 0xC000_003E;
/// 32-bit x86's.
pub const ARCH_I386: u32 = 0x4000_0003;
/// aarch64's.
pub const ARCH_AARCH64: u32 = 0xC000_00B7;
/// The calling convention this program was built for.
pub const ARCH_NATIVE: u32 = if cfg!(target_arch = "aarch64") { ARCH_AARCH64 } else { ARCH_X86_64 };

const NR_OFFSET: u32 = 0;
const ARCH_OFFSET: u32 = 4;
/// x32 calls carry this bit; Debian's kernels do not run them. They are answered with ENOSYS, as such a kernel does.
const X32_BIT: u32 = 0x4000_0000;

const fn stmt(code: u32, k: u32) -> libc::sock_filter {
    libc::sock_filter { code: code as u16, jt: 0, jf: 0, k }
}

const fn jump(code: u32, k: u32, jt: u8, jf: u8) -> libc::sock_filter {
    libc::sock_filter { code: code as u16, jt, jf, k }
}

const LOAD: u32 = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
const RETURN: u32 = libc::BPF_RET | libc::BPF_K;
const IF_EQUAL: u32 = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
const IF_ANY_BIT: u32 = libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K;

/// Offset of the low 32 bits of an argument, on a little-endian machine.
const fn argument(index: u32) -> u32 {
    16 + 8 * index
}

/// Compiles the tables to a filter. Calls of an unknown convention pass.
#[must_use]
pub fn compile(tables: &[Table]) -> Vec<libc::sock_filter> {
    let mut program = Vec::new();
    for table in tables {
        let body = compile_table(table);
        // A conditional jump reaches 255 instructions only, so a table is stepped over by an unconditional one.
        program.push(stmt(LOAD, ARCH_OFFSET));
        program.push(jump(IF_EQUAL, table.arch, 1, 0));
        let length = u32::try_from(body.len()).expect("a filter has at most 4096 instructions");
        program.push(stmt(libc::BPF_JMP | libc::BPF_JA, length));
        program.extend(body);
    }
    program.push(stmt(RETURN, libc::SECCOMP_RET_ALLOW));
    program
}

fn compile_table(table: &Table) -> Vec<libc::sock_filter> {
    let mut body = vec![stmt(LOAD, NR_OFFSET)];
    if table.arch == ARCH_X86_64 {
        body.push(jump(IF_ANY_BIT, X32_BIT, 0, 1));
        body.push(stmt(RETURN, libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32));
    }
    for rule in &table.rules {
        let verb = match rule.action {
            Verb::Trace => stmt(RETURN, libc::SECCOMP_RET_TRACE),
            Verb::Refuse => stmt(RETURN, libc::SECCOMP_RET_ERRNO | libc::EPERM as u32),
        };
        let test = match rule.when {
            When::Always => vec![verb],
            When::AnyBit(index, bits) => {
                vec![stmt(LOAD, argument(index)), jump(IF_ANY_BIT, bits, 0, 1), verb, stmt(LOAD, NR_OFFSET)]
            }
            When::Equals(index, value) => {
                vec![stmt(LOAD, argument(index)), jump(IF_EQUAL, value, 0, 1), verb, stmt(LOAD, NR_OFFSET)]
            }
            When::BothBits((first, first_bits), (second, second_bits)) => vec![
                stmt(LOAD, argument(first)),
                jump(IF_ANY_BIT, first_bits, 0, 3),
                stmt(LOAD, argument(second)),
                jump(IF_ANY_BIT, second_bits, 0, 1),
                verb,
                stmt(LOAD, NR_OFFSET),
            ],
        };
        let skip = u8::try_from(test.len()).expect("a test has at most six instructions");
        body.push(jump(IF_EQUAL, rule.number, 0, skip));
        body.extend(test);
    }
    body.push(stmt(RETURN, libc::SECCOMP_RET_ALLOW));
    body
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a filter as the kernel would, for the instructions that `compile` uses.
    fn run(program: &[libc::sock_filter], arch: u32, nr: u32, args: [u32; 6]) -> u32 {
        let (mut at, mut value) = (0, 0);
        loop {
            let op = program[at];
            at += 1;
            match u32::from(op.code) {
                LOAD => {
                    value = match op.k {
                        NR_OFFSET => nr,
                        ARCH_OFFSET => arch,
                        offset => args[(offset as usize - 16) / 8],
                    }
                }
                IF_EQUAL => at += usize::from(if value == op.k { op.jt } else { op.jf }),
                IF_ANY_BIT => at += usize::from(if value & op.k != 0 { op.jt } else { op.jf }),
                RETURN => return op.k,
                code if code == (libc::BPF_JMP | libc::BPF_JA) => at += op.k as usize,
                code => panic!("an instruction that compile does not use: {code}"),
            }
        }
    }

    #[test]
    fn a_call_stops_by_number_and_arguments_and_each_convention_has_its_own_numbers() {
        let rule = |number, when| Rule { number, when, action: Verb::Trace };
        let native = vec![
            rule(1, When::Always),
            rule(2, When::AnyBit(1, 0o100)),
            rule(9, When::BothBits((3, 1), (2, 2))),
            rule(16, When::Equals(1, 77)),
            Rule { number: 56, when: When::AnyBit(0, 8), action: Verb::Refuse },
            rule(18, When::Always),
        ];
        let program =
            compile(&[Table { arch: ARCH_X86_64, rules: native }, Table { arch: ARCH_I386, rules: vec![rule(4, When::Always)] }]);
        let is = |arch, nr, args| run(&program, arch, nr, args);
        let (trace, allow) = (libc::SECCOMP_RET_TRACE, libc::SECCOMP_RET_ALLOW);
        assert_eq!(is(ARCH_X86_64, 1, [0; 6]), trace);
        assert_eq!(is(ARCH_X86_64, 4, [0; 6]), allow);
        assert_eq!(is(ARCH_X86_64, 2, [0, 0o101, 0, 0, 0, 0]), trace);
        assert_eq!(is(ARCH_X86_64, 2, [0, 0o2, 0, 0, 0, 0]), allow);
        assert_eq!(is(ARCH_X86_64, 9, [0, 0, 3, 1, 0, 0]), trace);
        assert_eq!(is(ARCH_X86_64, 9, [0, 0, 3, 2, 0, 0]), allow);
        assert_eq!(is(ARCH_X86_64, 9, [0, 0, 1, 1, 0, 0]), allow);
        assert_eq!(is(ARCH_X86_64, 16, [0, 77, 0, 0, 0, 0]), trace);
        assert_eq!(is(ARCH_X86_64, 16, [0, 78, 0, 0, 0, 0]), allow);
        assert_eq!(is(ARCH_X86_64, 56, [8, 0, 0, 0, 0, 0]), libc::SECCOMP_RET_ERRNO | libc::EPERM as u32);
        // After a test that did not hold, the number is looked at again.
        assert_eq!(is(ARCH_X86_64, 18, [0; 6]), trace);
        assert_eq!(is(ARCH_I386, 4, [0; 6]), trace);
        assert_eq!(is(ARCH_I386, 1, [0; 6]), allow);
        assert_eq!(is(ARCH_X86_64, X32_BIT | 1, [0; 6]), libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32);
        assert_eq!(is(0xdead, 1, [0; 6]), allow);
    }
}
