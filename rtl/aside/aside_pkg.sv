// A cache in front of a server: what the modules of rtl/aside tell each other.
package aside_pkg;

  /// What leaves for the server: a GET; a write of a key; one of all keys, or of more than can be named.
  typedef enum logic [1:0] {
    GoLook,
    GoOpen,
    GoOpenAll
  } go_e;

  /// What comes back: a value that may fill; the end of a write of a key, or of all. Or all writes are forgotten.
  typedef enum logic [1:0] {
    BackFill,
    BackClose,
    BackCloseAll,
    BackClear
  } back_e;

  /// Of which state of its key a GET asked, and when: it is given back with what the server answers.
  typedef struct packed {
    logic [31:0] second;  // of 1,024 ms, from any start
    logic [31:0] version;
  } ticket_t;

  /// What is done to the entry of a key: it is asked for; a new one takes its place, or one of others'; it goes.
  typedef enum logic [1:0] {
    WayLook,
    WayPut,
    WayTake
  } way_e;

  /// What is done to a chain of lines: it is given; its lines become free; all lines become free.
  typedef enum logic [1:0] {
    ChainGive,
    ChainFree,
    ChainClear
  } chain_e;

endpackage
