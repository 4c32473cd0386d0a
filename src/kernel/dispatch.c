/*-------------------------------------------------------------------------
 *
 * dispatch.c
 *	  Which instruction set scores: the best that this build, the processor
 *	  and the operating system have and the cap allows.
 *
 * The processor is asked itself, not the compiler's run-time library: a
 * register width counts only when the operating system saves it (XGETBV).
 *
 *-------------------------------------------------------------------------
 */
#include "kernel/bounds.h"
#include "kernel/query.h"

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__)
#include <sys/auxv.h>
#endif

const char *const lw_kernel_names[LW_KERNEL_COUNT] =
{"auto", "scalar", "avx2", "avx512", "neon"};

static const LwArithmetic *arithmetics[LW_KERNEL_COUNT] =
{
	[LW_KERNEL_SCALAR] = &lw_arithmetic_scalar,
#if defined(__x86_64__)
	[LW_KERNEL_AVX2] = &lw_arithmetic_avx2,
	[LW_KERNEL_AVX512] = &lw_arithmetic_avx512,
#endif
#if defined(__aarch64__)
	[LW_KERNEL_NEON] = &lw_arithmetic_neon,
#endif
};

static const LwVectorKernel *vector_kernels[LW_KERNEL_COUNT] =
{
	[LW_KERNEL_SCALAR] = &lw_vectors_scalar,
	[LW_KERNEL_AVX2] = &lw_vectors_scalar,
	[LW_KERNEL_AVX512] = &lw_vectors_scalar,
	[LW_KERNEL_NEON] = &lw_vectors_scalar,
};

static LwKernel active = LW_KERNEL_AUTO;	/* not chosen yet */

#if defined(__x86_64__)

/* Leaf 1, ECX */
#define CPU_FMA (1U << 12)
#define CPU_OSXSAVE (1U << 27)
#define CPU_AVX (1U << 28)
#define CPU_F16C (1U << 29)
/* Leaf 7, EBX */
#define CPU_AVX2 (1U << 5)
#define CPU_AVX512F (1U << 16)
#define CPU_AVX512BW (1U << 30)
/* Leaf 7, ECX */
#define CPU_AVX512VNNI (1U << 11)
/* Leaf 7, subleaf 1, EAX */
#define CPU_AVXVNNI (1U << 4)
/* XCR0: what the operating system saves */
#define STATE_YMM 0x06U
#define STATE_ZMM 0xe6U

/* Whether all the bits of `wanted` are set. */
static bool
has(unsigned int bits, unsigned int wanted)
{
	return (bits & wanted) == wanted;
}

/* Whether a processor with subleaf 1 of leaf 7 has VNNI outside AVX-512. */
static bool
has_avxvnni(void)
{
	unsigned int eax,
				ebx,
				ecx,
				edx;

	__cpuid_count(7, 1, eax, ebx, ecx, edx);
	return has(eax, CPU_AVXVNNI);
}

/* Best instruction set of the processor; chooses among what the tables have for one. */
static LwKernel
detect(void)
{
	unsigned int eax,
				ebx,
				ecx,
				edx,
				state;
	bool		halves;

	if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) ||
		!has(ecx, CPU_FMA | CPU_OSXSAVE | CPU_AVX))
		return LW_KERNEL_SCALAR;
	halves = has(ecx, CPU_F16C);
	__asm__("xgetbv" : "=a"(state), "=d"(edx) : "c"(0));
	if (!has(state, STATE_YMM) ||
		!__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) || !has(ebx, CPU_AVX2))
		return LW_KERNEL_SCALAR;
	if (eax >= 1 && has_avxvnni())
		arithmetics[LW_KERNEL_AVX2] = &lw_arithmetic_avx2_vnni;
	if (halves)
	{
		vector_kernels[LW_KERNEL_AVX2] = &lw_vectors_avx2;
		vector_kernels[LW_KERNEL_AVX512] = &lw_vectors_avx2;
	}
	if (!has(state, STATE_ZMM) || !has(ebx, CPU_AVX512F | CPU_AVX512BW))
		return LW_KERNEL_AVX2;
	if (has(ecx, CPU_AVX512VNNI))
	{
		arithmetics[LW_KERNEL_AVX512] = &lw_arithmetic_avx512_vnni;
		if (halves)
			vector_kernels[LW_KERNEL_AVX512] = &lw_vectors_avx512;
	}
	return LW_KERNEL_AVX512;
}

#elif defined(__aarch64__)

/* NEON is part of every such processor; asks whether SDOT is. */
static LwKernel
detect(void)
{
	if ((getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0)
		arithmetics[LW_KERNEL_NEON] = &lw_arithmetic_neon_dotprod;
	return LW_KERNEL_NEON;
}

#else

static LwKernel
detect(void)
{
	return LW_KERNEL_SCALAR;
}

#endif

/* Best kernel that can be used, found once. */
static LwKernel
best(void)
{
	static LwKernel found = LW_KERNEL_AUTO;

	if (found == LW_KERNEL_AUTO)
		found = detect();
	return found;
}

bool
lw_kernel_available(LwKernel kernel)
{
	return kernel == LW_KERNEL_AUTO ||
		(arithmetics[kernel] != NULL && kernel <= best());
}

/* The best available kernel up to the cap; scalar when the cap is another processor's. */
void
lw_kernel_cap(LwKernel cap)
{
	if (cap != LW_KERNEL_AUTO && arithmetics[cap] == NULL)
		active = LW_KERNEL_SCALAR;
	else if (cap == LW_KERNEL_AUTO || cap > best())
		active = best();
	else
		active = cap;
}

LwKernel
lw_kernel_active(void)
{
	if (active == LW_KERNEL_AUTO)
		lw_kernel_cap(LW_KERNEL_AUTO);
	return active;
}

const LwArithmetic *
lw_arithmetic(void)
{
	return arithmetics[lw_kernel_active()];
}

const LwVectorKernel *
lw_vector_kernel(void)
{
	return vector_kernels[lw_kernel_active()];
}
