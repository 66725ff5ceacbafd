/* What kernels of the simulated device call; lib/Codegen/Gpu's lowering for it writes these calls
 * for thread numbers, barriers and what lanes tell each other.
 */
#ifndef TCC_RUNTIME_SIMULATED_H
#define TCC_RUNTIME_SIMULATED_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

uint32_t tcc_sim_thread(void); /* in its block */
uint32_t tcc_sim_block(void);  /* in the grid */
void tcc_sim_barrier(void);    /* of the block */
void tcc_sim_warp_barrier(void);
/* The word of lane `lane ^ distance` of the warp. */
uint32_t tcc_sim_exchange(uint32_t word, uint32_t distance);
/* A bit for each lane that gives 1. */
uint32_t tcc_sim_ballot(uint32_t vote);
/* The words of all lanes, at `lanes`: what other exchanges are made of. */
uint64_t *tcc_sim_share(uint64_t word, uint64_t lanes[32]);

/* ---- SimulatedMatrix.c: over what stands above ---- */

/* Operands of the next call below and results of the last one. */
void tcc_sim_give(uint32_t index, uint32_t word);
uint32_t tcc_sim_take(uint32_t index);
/* mma.sync of 16 rows by 8 columns over 32 bytes of k, of f64 of 8 rows: what the words are. */
enum tcc_sim_kind { TCC_SIM_BF16, TCC_SIM_F16, TCC_SIM_S8, TCC_SIM_U8, TCC_SIM_TF32, TCC_SIM_F64 };
void tcc_sim_multiply(uint32_t left_kind, uint32_t right_kind);
uint32_t tcc_sim_round_tf32(uint32_t bits);
/* ex2.approx.ftz.f32 */
uint32_t tcc_sim_exp2(uint32_t bits);
/* ldmatrix of `count` tiles of eight rows of 16 bytes. */
void tcc_sim_load_matrices(uint64_t address, uint32_t count, uint32_t transposed);
/* cp.async of `bytes`, of which those after `inside` are 0. */
void tcc_sim_copy_async(uint64_t to, uint64_t from, uint32_t bytes, uint32_t inside);
void tcc_sim_commit_copies(void);
void tcc_sim_await_copies(uint32_t groups);
/* A block begins: called by the device, not by kernels. */
void tcc_sim_begin_block(uint32_t number);

#ifdef __cplusplus
}
#endif
#endif
