rtl/conn/conn_mux.sv
rtl/conn/scheduler_job.sv
rtl/conn/scheduler_share.sv
rtl/conn/scheduler_ring.sv
rtl/conn/scheduler_queue.sv
rtl/conn/scheduler.sv
rtl/conn/contexts.sv
rtl/conn/fetch.sv
