/*-------------------------------------------------------------------------
 *
 * store.h
 *	  Stores that unit programs write: a scratch directory, and views.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_UNIT_STORE_H
#define LW_UNIT_STORE_H

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/compact.h"
#include "store/create.h"
#include "store/manifest_file.h"
#include "store/publish.h"
#include "unit.h"

#define LITERAL(text) ((LwString) {text, strlen(text)})

static char scratch[] = "/tmp/lateweave-unit.XXXXXX";

/* A path in the scratch directory; the last sixteen stay valid. */
static inline const char *
in_scratch(const char *name)
{
	static char paths[16][300];
	static int	last;

	last = (last + 1) % 16;
	snprintf(paths[last], sizeof(paths[last]), "%s/%s", scratch, name);
	return paths[last];
}

static inline void
make_scratch(void)
{
	if (mkdtemp(scratch) == NULL)
	{
		perror(scratch);
		exit(1);
	}
	umask(077);
}

static inline void
run_command(const char *command, const char *a, const char *b)
{
	char		text[2000];

	snprintf(text, sizeof(text), command, a, b);
	if (system(text) != 0)
	{
		fprintf(stderr, "failed: %s\n", text);
		exit(1);
	}
}

static inline void
remove_scratch(void)
{
	run_command("rm -rf '%s'%s", scratch, "");
}

static inline const char *
golden_root(void)
{
	const char *root = getenv("LATEWEAVE_GOLDEN");

	return root != NULL ? root : "test/golden";
}

/* Opens a directory, which must be there. */
static inline LwDirectory
open_directory(const char *path)
{
	LwDirectory directory = {open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), path};

	if (directory.fd < 0)
	{
		perror(path);
		exit(1);
	}
	return directory;
}

/* The current view of a store, or NULL after a failed check; to be released. */
static inline LwView *
open_view(LwDirectory store)
{
	LwManifest	manifest;
	LwView	   *view = NULL;
	LwError		error = {0};
	LwStatus	status = lw_manifest_read(store.fd, store.path, &manifest, NULL, NULL, &error);

	if (status == LW_OK)
	{
		status = lw_view_open(store.fd, store.path, &manifest, NULL, &view, &error);
		if (status != LW_OK)
			lw_manifest_free(&manifest);
	}
	CHECK(status == LW_OK, "%s: %s, found %s", error.path, error.expected, error.found);
	return view;
}

/* What a store is to be. */
static inline LwManifest
identity(LwEncoding encoding, uint64_t dimension, bool normalized)
{
	LwManifest	manifest;

	memset(&manifest, 0, sizeof(manifest));
	manifest.store_id = LITERAL("0123456789abcdef0123456789abcdef");
	manifest.corpus = LITERAL("unit");
	manifest.encoder = LITERAL("unit/encoder");
	manifest.encoder_revision = LITERAL("r1");
	manifest.encoding = encoding;
	manifest.dimension = dimension;
	manifest.normalized = normalized;
	manifest.committed_at = 1790000000.25;
	return manifest;
}

#endif							/* LW_UNIT_STORE_H */
