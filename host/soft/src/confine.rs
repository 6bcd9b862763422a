//! `-o drop_privileges`: from here on the process makes no system call but those that serving takes.
//! A seccomp filter ends it at the first other one: something foreign runs in it then.

use anyhow::{Context, Result};
use seccompiler::SeccompCmpArgLen::{Dword, Qword};
use seccompiler::SeccompCmpOp::{Eq, MaskedEq};
use seccompiler::{apply_filter_all_threads, BpfProgram};
use seccompiler::{SeccompAction, SeccompCondition, SeccompFilter, SeccompRule};

/// Whatever their arguments are.
const CALLS: &[libc::c_long] = &[
    // Connections. Nothing is opened, bound or connected any more.
    libc::SYS_accept4,
    libc::SYS_close,
    libc::SYS_fcntl,
    libc::SYS_getpeername,
    libc::SYS_getsockname,
    libc::SYS_getsockopt,
    libc::SYS_io_uring_enter,
    libc::SYS_ioctl,
    libc::SYS_pread64,
    libc::SYS_read,
    libc::SYS_readv,
    libc::SYS_recvfrom,
    libc::SYS_recvmmsg,
    libc::SYS_recvmsg,
    libc::SYS_sendmmsg,
    libc::SYS_sendmsg,
    libc::SYS_sendto,
    libc::SYS_setsockopt,
    libc::SYS_shutdown,
    libc::SYS_write,
    libc::SYS_writev,
    // Waiting.
    libc::SYS_clock_nanosleep,
    libc::SYS_epoll_ctl,
    libc::SYS_epoll_pwait,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_epoll_wait,
    libc::SYS_futex,
    libc::SYS_nanosleep,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_poll,
    libc::SYS_ppoll,
    libc::SYS_restart_syscall,
    libc::SYS_sched_yield,
    // Memory; that it cannot be executed is seen to below.
    libc::SYS_brk,
    libc::SYS_madvise,
    libc::SYS_membarrier,
    libc::SYS_mremap,
    libc::SYS_munmap,
    // What the process knows of itself, the time, and random numbers.
    libc::SYS_clock_gettime,
    libc::SYS_getpid,
    libc::SYS_getrandom,
    libc::SYS_getrusage,
    libc::SYS_gettid,
    libc::SYS_gettimeofday,
    libc::SYS_sched_getaffinity,
    // A thread that has been started and has not begun yet.
    libc::SYS_rseq,
    libc::SYS_set_robust_list,
    // The end, of a thread and of all.
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_rt_sigtimedwait,
    libc::SYS_sigaltstack,
];

/// For a process that removes a file at its end.
const REMOVAL: &[libc::c_long] = &[
    libc::SYS_statx,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_unlink,
    libc::SYS_unlinkat,
];

/// For a process that keeps its items in a file.
const KEEPING: &[libc::c_long] = &[libc::SYS_fdatasync, libc::SYS_msync, libc::SYS_pwrite64];

/// For all threads, and those that they start.
pub fn confine(removes_files: bool, keeps: bool) -> Result<()> {
    let filter = filter(removes_files, keeps).context("-o drop_privileges")?;
    apply_filter_all_threads(&filter).context("-o drop_privileges: seccomp refuses")
}

fn filter(removes_files: bool, keeps: bool) -> Result<BpfProgram> {
    let argument = |number, length, operation, value| -> Result<_> {
        let condition = SeccompCondition::new(number, length, operation, value)?;
        Ok(vec![SeccompRule::new(vec![condition])?])
    };
    let process = u64::from(std::process::id());
    let executable = MaskedEq(libc::PROT_EXEC as u64);
    let mut rules = vec![
        (libc::SYS_mmap, argument(2, Qword, executable.clone(), 0)?),
        (libc::SYS_mprotect, argument(2, Qword, executable, 0)?),
        // How a thread that has been started names itself and gives way to others.
        (libc::SYS_getpriority, argument(1, Dword, Eq, 0)?),
        (libc::SYS_sched_setattr, argument(0, Dword, Eq, 0)?),
        (libc::SYS_prctl, argument(0, Dword, Eq, libc::PR_SET_NAME as u64)?),
        // `shutdown`, and a panic that aborts.
        (libc::SYS_kill, argument(0, Dword, Eq, process)?),
        (libc::SYS_tgkill, argument(0, Dword, Eq, process)?),
    ];
    let removal = if removes_files { REMOVAL } else { &[] };
    let keeping = if keeps { KEEPING } else { &[] };
    rules.extend(CALLS.iter().chain(removal).chain(keeping).map(|call| (*call, vec![])));
    let rules = rules.into_iter().collect();
    let (others, these) = (SeccompAction::KillProcess, SeccompAction::Allow);
    let filter = SeccompFilter::new(rules, others, these, std::env::consts::ARCH.try_into()?)?;
    Ok(filter.try_into()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How a process ends that is confined and then does `act`: a signal, or the status 0.
    fn end_of(removes_files: bool, act: impl Fn()) -> Result<(), i32> {
        // SAFETY: the child makes system calls only, and none of its parent's threads is in it.
        match unsafe { libc::fork() } {
            0 => {
                let filter = filter(removes_files, false).expect("a filter");
                apply_filter_all_threads(&filter).expect("seccomp");
                act();
                // SAFETY: the end.
                unsafe { libc::_exit(0) }
            }
            child => {
                let mut status = 0;
                // SAFETY: the status is valid during the call.
                assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
                if libc::WIFSIGNALED(status) {
                    return Err(libc::WTERMSIG(status));
                }
                assert_eq!(libc::WEXITSTATUS(status), 0);
                Ok(())
            }
        }
    }

    fn call(number: libc::c_long, arguments: [usize; 3]) {
        let [a, b, c] = arguments;
        // SAFETY: the addresses are of no memory, or of a string.
        unsafe { libc::syscall(number, a, b, c, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, 0) };
    }

    #[test]
    fn a_foreign_call_ends_the_process() {
        let path = c"/nonexistent".as_ptr() as usize;
        let own = std::process::id() as usize;
        let (read, execute) =
            (libc::PROT_READ as usize, (libc::PROT_READ | libc::PROT_EXEC) as usize);
        for (number, arguments) in [
            (libc::SYS_openat, [libc::AT_FDCWD as usize, path, 0]),
            (libc::SYS_execve, [path, 0, 0]),
            (libc::SYS_socket, [libc::AF_INET as usize, libc::SOCK_STREAM as usize, 0]),
            (libc::SYS_connect, [0, 0, 0]),
            (libc::SYS_clone, [0, 0, 0]),
            (libc::SYS_ptrace, [0, 0, 0]),
            (libc::SYS_io_uring_setup, [1, 0, 0]),
            (libc::SYS_io_uring_register, [0, 0, 0]),
            (libc::SYS_kill, [own, 0, 0]), // the parent, here
            (libc::SYS_mmap, [0, 4096, execute]),
            (libc::SYS_mprotect, [0, 4096, execute]),
            (libc::SYS_unlinkat, [libc::AT_FDCWD as usize, path, 0]),
        ] {
            assert_eq!(end_of(false, || call(number, arguments)), Err(libc::SIGSYS), "{number}");
        }
        let remove = [libc::AT_FDCWD as usize, path, 0];
        assert_eq!(end_of(true, || call(libc::SYS_unlinkat, remove)), Ok(()));
        assert_eq!(end_of(false, || call(libc::SYS_mmap, [0, 4096, read])), Ok(()));
        let raise = || call(libc::SYS_kill, [std::process::id() as usize, 0, 0]);
        assert_eq!(end_of(false, raise), Ok(()));
    }
}
