/*-------------------------------------------------------------------------
 *
 * spill.c
 *	  Bytes appended to a temporary file.
 *
 *-------------------------------------------------------------------------
 */
#include "section/spill.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "section/bytes.h"

#define PENDING_SIZE ((size_t) 256 * 1024)

LwStatus
lw_write_all(int fd, const void *data, size_t size, LwError *error)
{
	const char *from = data;

	while (size > 0)
	{
		ssize_t		written = write(fd, from, size);

		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0)
			return lw_fail_errno(error, errno, "write");
		if (written == 0)
			return lw_fail_errno(error, ENOSPC, "write");
		from += written;
		size -= (size_t) written;
	}
	return LW_OK;
}

LwStatus
lw_spill_begin(LwSpill *spill, int fd, LwError *error)
{
	memset(spill, 0, sizeof(*spill));
	spill->fd = fd;
	spill->pending = malloc(PENDING_SIZE);
	return spill->pending == NULL ? lw_no_memory(error) : LW_OK;
}

void
lw_spill_free(LwSpill *spill)
{
	if (spill->map != NULL)
		munmap(spill->map, spill->map_size);
	free(spill->pending);
	memset(spill, 0, sizeof(*spill));
}

LwStatus
lw_spill_flush(LwSpill *spill, LwError *error)
{
	LwStatus	status = lw_write_all(spill->fd, spill->pending, spill->npending, error);

	if (status == LW_OK)
		spill->npending = 0;
	return status;
}

LwStatus
lw_spill_put(LwSpill *spill, const void *data, size_t size, LwError *error)
{
	LwStatus	status = LW_OK;

	if (size == 0)
		return LW_OK;
	if (size > PENDING_SIZE - spill->npending)
		status = lw_spill_flush(spill, error);
	if (status == LW_OK && size > PENDING_SIZE)
		status = lw_write_all(spill->fd, data, size, error);
	else if (status == LW_OK)
	{
		memcpy(spill->pending + spill->npending, data, size);
		spill->npending += size;
	}
	if (status == LW_OK)
		spill->size += size;
	return status;
}

LwStatus
lw_spill_read(const LwSpill *spill, uint64_t offset, void *to, size_t size, LwError *error)
{
	char	   *into = to;

	while (size > 0)
	{
		ssize_t		got = pread(spill->fd, into, size, (off_t) offset);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return lw_fail_errno(error, got < 0 ? errno : EIO, "read");
		into += got;
		offset += (uint64_t) got;
		size -= (size_t) got;
	}
	return LW_OK;
}

LwStatus
lw_spill_map(LwSpill *spill, const uint8_t **data, LwError *error)
{
	LwStatus	status = lw_spill_flush(spill, error);
	void	   *map;

	if (status != LW_OK)
		return status;
	if (spill->size == 0 || spill->size > SIZE_MAX / 2)
		return lw_no_memory(error);
	map = mmap(NULL, (size_t) spill->size, PROT_READ, MAP_SHARED, spill->fd, 0);
	if (map == MAP_FAILED)
		return lw_fail_errno(error, errno, "map");
	spill->map = map;
	spill->map_size = (size_t) spill->size;
	*data = map;
	return LW_OK;
}
