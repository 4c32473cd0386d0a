/*-------------------------------------------------------------------------
 *
 * fuzz_npy.c
 *	  Headers of .npy files.  What must hold for any bytes: the data of an
 *	  accepted file lie in it, aligned, and end with it; a file longer or
 *	  shorter by a byte is refused.
 *
 *-------------------------------------------------------------------------
 */
#include "format/npy.h"
#include "fuzz.h"

/* Parses the first `size` bytes of a file, extended by zeros. */
static LwStatus
parse(const uint8_t *data, size_t have, size_t size, LwNpy *npy)
{
	uint8_t    *file = exact_memory(size);
	LwError		error;
	LwStatus	status;

	if (size > 0)
	{
		memset(file, 0, size);
		memcpy(file, data, have < size ? have : size);
	}
	status = lw_npy_parse(file, size, npy, &error);
	if (status != LW_OK)
	{
		REQUIRE(status == LW_MALFORMED && error.status == status);
		REQUIRE(error.name != NULL && error.expected[0] != '\0');
		REQUIRE(error.offset >= -1 && error.offset <= (int64_t) size);
	}
	free(file);
	return status;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	LwNpy		npy;
	LwNpy		again;
	LwError		error;
	size_t		element;
	uint64_t	left;
	int			i;

	if (parse(data, size, size, &npy) != LW_OK)
		return 0;

	REQUIRE(npy.axes >= 0 && npy.axes <= LW_NPY_MAX_AXES);
	REQUIRE(npy.data_offset >= 10 && npy.data_offset <= size);
	element = npy.type == LW_NPY_FLOAT32 ? 4 : npy.type == LW_NPY_INT8 ? 1 : 8;
	REQUIRE(npy.data_offset % element == 0);

	/* dividing the data by the element and the axes must leave exactly one */
	left = size - npy.data_offset;
	REQUIRE(left % element == 0);
	left /= element;
	for (i = 0; i < npy.axes && npy.shape[i] != 0; i++)
	{
		if (left == 0)
			continue;
		REQUIRE(left % npy.shape[i] == 0);
		left /= npy.shape[i];
	}
	REQUIRE(left == (i < npy.axes ? 0 : 1));

	if (npy.axes == 1 || npy.axes == 2)
	{
		REQUIRE(lw_npy_expect(&npy, npy.type, npy.axes, npy.shape[0], npy.shape[1], &error) == LW_OK);
		REQUIRE(lw_npy_expect(&npy, npy.type, npy.axes, npy.shape[0] + 1, npy.shape[1], &error) == LW_MALFORMED);
	}
	REQUIRE(lw_npy_expect(&npy, npy.type, npy.axes == 1 ? 2 : 1, npy.shape[0], npy.shape[1], &error) == LW_MALFORMED);

	REQUIRE(parse(data, size, size + 1, &again) == LW_MALFORMED);
	REQUIRE(parse(data, size, size - 1, &again) == LW_MALFORMED);
	return 0;
}
