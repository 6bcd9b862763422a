// The core's two Wishbone buses on RAM and registers, one access at a time, data before instructions. A word that is written
// takes 2 clocks, one that is read 3, a burst of eight 10; a register as long as it wants.
//
// A burst lies in 32 bytes, of which a copy is kept while it is given. Bit 31 of an address of RAM only says that the core
// shall not cache it.
module machine_bus
  import wirekv_pkg::*;
  import machine_pkg::*;
#(
  /// Bytes of RAM; of these the first are the program's and are not written.
  parameter int unsigned RamBytes = 8 << 20,
  parameter int unsigned RomBytes = 65536
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  /// Instructions.
  input  logic        i_stb_i,
  input  logic [29:0] i_adr_i,
  output logic        i_ack_o,
  output logic        i_err_o,
  /// Data. `d_more_i`: the burst goes on behind this word.
  input  logic        d_stb_i,
  input  logic        d_we_i,
  input  logic [29:0] d_adr_i,
  input  logic [3:0]  d_sel_i,
  input  logic [31:0] d_dat_i,
  input  logic        d_more_i,
  output logic        d_ack_o,
  output logic        d_err_o,
  /// What is read, of both.
  output logic [31:0] dat_o,
  /// RAM.
  output logic        re_o,
  output line_addr_t  raddr_o,
  input  line_t       rdata_i,
  output logic        we_o,
  output ram_write_t  write_o,
  /// Registers: an access stands until it is answered.
  output logic        io_valid_o,
  output io_req_t     io_o,
  input  logic        io_ready_i,
  input  logic [31:0] io_rdata_i
);

  typedef enum logic [2:0] {
    Idle,
    Read,
    Answer,
    Io,
    Fail
  } state_e;
  state_e state_q;
  logic data_q;  // whose access it is
  logic [7:0][31:0] half_q;

  // ---------------------------------------------------------------- what is asked for
  logic [28:0] adr;
  logic we, in_ram, in_rom, in_io, idle, stb;
  assign idle   = state_q == Idle;
  assign stb    = d_stb_i || i_stb_i;
  assign adr    = (idle ? d_stb_i : data_q) ? d_adr_i[28:0] : i_adr_i[28:0];
  assign we     = d_stb_i && d_we_i;
  assign in_ram = adr < 29'(RamBytes / 4);
  assign in_rom = adr < 29'(RomBytes / 4);
  assign in_io  = d_stb_i && d_adr_i[29:11] == 19'h78000 && d_sel_i == '1;

  assign re_o         = idle && stb && !we && in_ram;
  assign raddr_o      = adr[28:4];
  assign we_o         = idle && we && in_ram && !in_rom;
  assign write_o.addr = adr[28:4];
  assign write_o.data = {16{d_dat_i}};
  assign write_o.strb = 64'(d_sel_i) << {adr[3:0], 2'b00};

  // ---------------------------------------------------------------- answers
  logic mine, more;
  assign mine    = data_q ? d_stb_i : i_stb_i;
  assign more    = data_q ? d_more_i : i_adr_i[2:0] != 3'd7;
  assign i_ack_o = state_q == Answer && !data_q && i_stb_i;
  assign d_ack_o = state_q == Answer && data_q && d_stb_i;
  // An error ends an access, and is given beside its end.
  assign i_err_o = state_q == Fail && !data_q && i_stb_i;
  assign d_err_o = state_q == Fail && data_q && d_stb_i;
  assign dat_o   = half_q[adr[2:0]];

  always_ff @(posedge clk_i) begin
    if (!rst_ni) state_q <= Idle;
    else begin
      unique case (state_q)
        Idle:
        if (stb) begin
          if (in_io) state_q <= Io;
          else if (we) state_q <= we_o ? Answer : Fail;
          else state_q <= in_ram ? Read : Fail;
        end
        Read:    state_q <= Answer;
        Io:      if (io_ready_i) state_q <= Answer;
        // A core that was reset asks for nothing more.
        default: if (!mine || !more) state_q <= Idle;
      endcase
    end
    if (idle) data_q <= d_stb_i;
    if (state_q == Io) half_q <= {8{io_rdata_i}};
    else if (state_q == Read) half_q <= adr[3] ? rdata_i[511:256] : rdata_i[255:0];
  end

  // It stands even if the core is reset meanwhile.
  assign io_valid_o = state_q == Io;
  always_ff @(posedge clk_i) begin
    if (idle) begin
      io_o <= '{link: !d_adr_i[10], we: d_we_i, word: d_adr_i[9:0], data: d_dat_i};
    end
  end

endmodule
