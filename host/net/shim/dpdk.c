// What DPDK has as macros and inline functions, and what must be done around its start, for host/net/src/dpdk.rs.

#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_log.h>
#include <rte_mbuf.h>

#define BURST 64
#define POOL_CACHE 256
#define MAX_FRAME (1 << 16)

// In the order of the Rust side.
struct wk_info {
  uint16_t min_mtu, max_mtu, mtu;
  uint16_t rx_queues, tx_queues;
  bool segments;
  uint8_t mac[RTE_ETHER_ADDR_LEN];
  char name[RTE_ETH_NAME_MAX_LEN];
  char driver[RTE_ETH_NAME_MAX_LEN];
};

enum wk_step { STEP_CONFIGURE, STEP_RX_QUEUE, STEP_TX_QUEUE, STEP_START, STEP_LISTEN };

// What EAL and drivers said that went wrong, a line each.
static char errors[2048];
static bool quiet;
// Where EAL's main thread is to run.
static cpu_set_t main_cpus;

static ssize_t heard(void *cookie, const char *text, size_t len) {
  (void)cookie;
  size_t had = strlen(errors);
  if (quiet) return len;
  if (rte_log_cur_msg_loglevel() <= (int)RTE_LOG_ERR && had + len < sizeof errors) {
    memcpy(errors + had, text, len);
    errors[had + len] = 0;
  }
  fwrite(text, 1, len, stderr);
  return len;
}

const char *wk_errors(void) { return errors; }

const char *wk_text(int error) { return rte_strerror(error < 0 ? -error : error); }

// Threads of EAL take no signals, and the caller's thread stays on the processors that it has. EAL lists its arguments
// when it refuses one; that is seen only if `listed`.
int wk_eal_init(int argc, char **argv, bool listed) {
  cookie_io_functions_t functions = {.write = heard};
  FILE *log = fopencookie(NULL, "w", functions), *out = stdout, *nowhere = listed ? NULL : fopen("/dev/null", "w");
  if (log) rte_openlog_stream(log);
  if (nowhere) stdout = nowhere;
  sigset_t all, before;
  cpu_set_t cpus;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  pthread_getaffinity_np(pthread_self(), sizeof cpus, &cpus);
  int done = rte_eal_init(argc, argv);
  int error = rte_errno;
  stdout = out;
  if (nowhere) fclose(nowhere);
  pthread_getaffinity_np(pthread_self(), sizeof main_cpus, &main_cpus);
  pthread_setaffinity_np(pthread_self(), sizeof cpus, &cpus);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return done < 0 ? -error : done;
}

bool wk_is_primary(void) { return rte_eal_process_type() == RTE_PROC_PRIMARY; }

// From now on, this is the thread that moves frames.
void wk_enter(void) {
  pthread_setaffinity_np(pthread_self(), sizeof main_cpus, &main_cpus);
  // For a cache of mbufs of its own. Without, it takes them from the pool one by one.
  rte_thread_register();
}

void wk_leave(void) { rte_thread_unregister(); }

// The port at or behind a number, or RTE_MAX_ETHPORTS.
uint16_t wk_next_port(uint16_t port) { return rte_eth_find_next_owned_by(port, RTE_ETH_DEV_NO_OWNER); }

uint16_t wk_max_ports(void) { return RTE_MAX_ETHPORTS; }

int wk_port_info(uint16_t port, struct wk_info *out) {
  struct rte_eth_dev_info info;
  struct rte_ether_addr mac;
  int error = rte_eth_dev_info_get(port, &info);
  if (!error) error = rte_eth_macaddr_get(port, &mac);
  if (!error) error = rte_eth_dev_get_mtu(port, &out->mtu);
  if (!error) error = rte_eth_dev_get_name_by_port(port, out->name);
  if (error) return error;
  out->min_mtu = info.min_mtu;
  out->max_mtu = info.max_mtu;
  if (info.max_mtu == UINT16_MAX && info.max_rx_pktlen < UINT16_MAX && info.max_rx_pktlen > RTE_ETHER_MTU)
    out->max_mtu = info.max_rx_pktlen - RTE_ETHER_HDR_LEN - RTE_ETHER_CRC_LEN;
  out->rx_queues = info.max_rx_queues;
  out->tx_queues = info.max_tx_queues;
  out->segments = (info.rx_offload_capa & RTE_ETH_RX_OFFLOAD_SCATTER) &&
                  (info.tx_offload_capa & RTE_ETH_TX_OFFLOAD_MULTI_SEGS);
  memcpy(out->mac, mac.addr_bytes, sizeof out->mac);
  snprintf(out->driver, sizeof out->driver, "%s", info.driver_name);
  return 0;
}

// Mbufs, each with room for so many bytes.
struct rte_mempool *wk_pool(uint16_t port, unsigned count, uint16_t room) {
  return rte_pktmbuf_pool_create("wirekv", count, POOL_CACHE, 0, room + RTE_PKTMBUF_HEADROOM,
                                 rte_eth_dev_socket_id(port));
}

static int configure(uint16_t port, struct rte_mempool *pool, uint16_t mtu, uint16_t descriptors,
                     bool interrupts, enum wk_step *step) {
  struct rte_eth_dev_info info;
  *step = STEP_CONFIGURE;
  int error = rte_eth_dev_info_get(port, &info);
  if (error) return error;
  struct rte_eth_conf conf = {0};
  conf.rxmode.mtu = mtu;
  conf.rxmode.offloads = info.rx_offload_capa & (RTE_ETH_RX_OFFLOAD_SCATTER | RTE_ETH_RX_OFFLOAD_CHECKSUM);
  conf.txmode.offloads = info.tx_offload_capa & RTE_ETH_TX_OFFLOAD_MULTI_SEGS;
  conf.intr_conf.rxq = interrupts;
  error = rte_eth_dev_configure(port, 1, 1, &conf);
  uint16_t rx = descriptors, tx = descriptors;
  if (!error) error = rte_eth_dev_adjust_nb_rx_tx_desc(port, &rx, &tx);
  if (error) return error;
  int socket = rte_eth_dev_socket_id(port);
  *step = STEP_RX_QUEUE;
  struct rte_eth_rxconf rxconf = info.default_rxconf;
  rxconf.offloads = conf.rxmode.offloads;
  error = rte_eth_rx_queue_setup(port, 0, rx, socket, &rxconf, pool);
  if (error) return error;
  *step = STEP_TX_QUEUE;
  struct rte_eth_txconf txconf = info.default_txconf;
  txconf.offloads = conf.txmode.offloads;
  error = rte_eth_tx_queue_setup(port, 0, tx, socket, &txconf);
  if (error) return error;
  *step = STEP_START;
  return rte_eth_dev_start(port);
}

// One queue in and one out. `interrupt` becomes a file that is readable when frames have come, or -1 if the driver has
// no such.
int wk_start(uint16_t port, struct rte_mempool *pool, uint16_t mtu, uint16_t descriptors, int *interrupt,
             enum wk_step *step) {
  *interrupt = -1;
  int error = configure(port, pool, mtu, descriptors, true, step);
  if (error) {
    // Some start without interrupts only.
    bool again = *step == STEP_CONFIGURE || *step == STEP_START;
    return again ? configure(port, pool, mtu, descriptors, false, step) : error;
  }
  quiet = true;  // a driver without interrupts is no error
  int fd = rte_eth_dev_rx_intr_ctl_q_get_fd(port, 0);
  int enabled = fd < 0 ? fd : rte_eth_dev_rx_intr_enable(port, 0);
  quiet = false;
  // A driver that cannot switch them has them on.
  if (fd >= 0 && (!enabled || enabled == -ENOTSUP)) *interrupt = fd;
  return 0;
}

// Has the port listen for all groups, and for another MAC address if there is one: then it must.
int wk_listen(uint16_t port, const uint8_t *address) {
  quiet = true;  // there is another way
  int error = rte_eth_allmulticast_enable(port);
  if (!error && address) {
    struct rte_ether_addr mac;
    memcpy(mac.addr_bytes, address, sizeof mac.addr_bytes);
    error = rte_eth_dev_mac_addr_add(port, &mac, 0);
  }
  quiet = false;
  return error && address ? rte_eth_promiscuous_enable(port) : 0;
}

void wk_arm(uint16_t port) { rte_eth_dev_rx_intr_enable(port, 0); }

void wk_disarm(uint16_t port) { rte_eth_dev_rx_intr_disable(port, 0); }

// Gives each frame that is there to `take`, with what the driver knows of its checksum (1: done, 0: half done, -1: it
// does not know). Tags of VLANs are in the frames, since nobody asks the driver to take them out. Returns how many there
// were.
unsigned wk_receive(uint16_t port, void (*take)(void *, const uint8_t *, size_t, int), void *context) {
  static uint8_t whole[MAX_FRAME];
  struct rte_mbuf *burst[BURST];
  unsigned count = rte_eth_rx_burst(port, 0, burst, BURST);
  for (unsigned n = 0; n < count; n++) {
    const struct rte_mbuf *m = burst[n];
    uint64_t sum = m->ol_flags & RTE_MBUF_F_RX_L4_CKSUM_MASK;
    int done = sum == RTE_MBUF_F_RX_L4_CKSUM_GOOD ? 1 : sum == RTE_MBUF_F_RX_L4_CKSUM_NONE ? 0 : -1;
    // A frame in several pieces is put together; none is as large as that.
    const uint8_t *bytes = m->pkt_len > MAX_FRAME ? NULL : rte_pktmbuf_read(m, 0, m->pkt_len, whole);
    take(context, bytes, m->pkt_len, done);
  }
  rte_pktmbuf_free_bulk(burst, count);
  return count;
}

// A frame in one mbuf, or in as many as it takes.
static struct rte_mbuf *frame(struct rte_mempool *pool, const uint8_t *bytes, size_t len) {
  struct rte_mbuf *head = rte_pktmbuf_alloc(pool);
  for (struct rte_mbuf *m = head; m;) {
    size_t part = RTE_MIN(len, rte_pktmbuf_tailroom(m));
    memcpy(rte_pktmbuf_append(m, part), bytes, part);
    bytes += part;
    len -= part;
    if (m != head && rte_pktmbuf_chain(head, m)) {
      rte_pktmbuf_free(m);
      break;
    }
    if (!len) return head;
    m = rte_pktmbuf_alloc(pool);
  }
  rte_pktmbuf_free(head);
  return NULL;
}

// Sends; returns how many frames went. As long as the driver takes any, it is asked again.
unsigned wk_send(uint16_t port, struct rte_mempool *pool, const struct iovec *frames, unsigned count) {
  struct rte_mbuf *burst[BURST];
  unsigned made = 0;
  for (unsigned n = 0; n < count && n < BURST; n++)
    if ((burst[made] = frame(pool, frames[n].iov_base, frames[n].iov_len))) made++;
  unsigned sent = 0, now;
  while (sent < made && (now = rte_eth_tx_burst(port, 0, burst + sent, made - sent))) sent += now;
  rte_pktmbuf_free_bulk(burst + sent, made - sent);
  return sent;
}

bool wk_is_removed(uint16_t port) { return rte_eth_dev_is_removed(port); }

// Frames that the port had no room for, that it found damaged, and that it did not send.
int wk_counts(uint16_t port, uint64_t *no_room, uint64_t *damaged, uint64_t *unsent) {
  struct rte_eth_stats stats;
  int error = rte_eth_stats_get(port, &stats);
  if (error) return error;
  *no_room = stats.imissed + stats.rx_nombuf;
  *damaged = stats.ierrors;
  *unsent = stats.oerrors;
  return 0;
}

void wk_close(uint16_t port) {
  quiet = true;  // without privileges a driver may not undo all
  rte_eth_promiscuous_disable(port);
  rte_eth_dev_stop(port);
  rte_eth_dev_close(port);
  quiet = false;
}

void wk_eal_end(void) { rte_eal_cleanup(); }
