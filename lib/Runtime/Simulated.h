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

#ifdef __cplusplus
}
#endif
#endif
