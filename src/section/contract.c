/*-------------------------------------------------------------------------
 *
 * contract.c
 *	  What a manifest must say, and the copy of it in section 0x06.
 *
 *-------------------------------------------------------------------------
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "section/fault.h"
#include "section/file.h"
#include "section/framed.h"
#include "section/record.h"
#include "section/space.h"

#define SUPPORTED_VERSION 1
#define HASH_PREFIX "sha256:"
#define HASH_DIGITS 64

static bool
is(LwBytes string, const char *text)
{
	return lw_bytes_equal(string, text, strlen(text));
}

static bool
is_hash(LwBytes string)
{
	const size_t prefix = strlen(HASH_PREFIX);
	size_t		i;

	if (string.size != prefix + HASH_DIGITS || memcmp(string.data, HASH_PREFIX, prefix) != 0)
		return false;
	for (i = prefix; i < string.size; i++)
		if (!((string.data[i] >= '0' && string.data[i] <= '9') ||
			  (string.data[i] >= 'a' && string.data[i] <= 'f') ||
			  (string.data[i] >= 'A' && string.data[i] <= 'F')))
			return false;
	return true;
}

static LwStatus
invalid(LwError *error, const char *expected, const char *found)
{
	return lw_fail(error, LW_MALFORMED, "ManifestInvalid", -1, expected, "%s", found);
}

static LwStatus
check_values(LwSectionManifest *manifest, LwError *error)
{
	int			type;

	if (!is_hash(manifest->model_hash))
		return lw_section_bad_string(error, LW_MALFORMED, "InvalidModelHash", "sha256: and 64 hexadecimal digits",
									 "model_hash", manifest->model_hash);
	for (type = 0; type < LW_VECTOR_TYPES; type++)
		if (is(manifest->dtype, lw_vector_type_name((LwVectorType) type)))
			break;
	if (type == LW_VECTOR_TYPES)
		return lw_section_bad_string(error, LW_MALFORMED, "UnsupportedDType", "float32, float16, int8 or int4",
									 "dtype", manifest->dtype);
	manifest->vector_type = (LwVectorType) type;
	if (!is(manifest->metric, "ip"))
		return lw_section_bad_string(error, LW_MALFORMED, "UnsupportedMetric", "ip", "metric", manifest->metric);
	if (!is(manifest->score_type, "cosine") && !is(manifest->score_type, "hybrid_rrf"))
		return lw_section_bad_string(error, LW_MALFORMED, "UnsupportedScoreType", "cosine or hybrid_rrf",
									 "score_type", manifest->score_type);
	if (!is(manifest->normalize, "l2"))
		return lw_section_bad_string(error, LW_MALFORMED, "UnsupportedNormalize", "l2", "normalize", manifest->normalize);
	if (is(manifest->index_type, "exact"))
		manifest->index = LW_INDEX_EXACT;
	else if (is(manifest->index_type, "hnsw"))
		manifest->index = LW_INDEX_HNSW;
	else if (is(manifest->index_type, "hybrid"))
		manifest->index = LW_INDEX_HYBRID;
	else
		return lw_section_bad_string(error, LW_MALFORMED, "UnsupportedIndexType", "exact, hnsw or hybrid",
									 "index_type", manifest->index_type);
	if (!is(manifest->rerank_policy, "none") && !is(manifest->rerank_policy, "exact"))
		return lw_section_bad_string(error, LW_MALFORMED, "UnsupportedRerankPolicy", "none or exact",
									 "rerank_policy", manifest->rerank_policy);
	return LW_OK;
}

static LwStatus
check_truncation(const LwSectionManifest *manifest, LwError *error)
{
	if (!manifest->has_mrl_dim && !manifest->has_full_dim)
		return LW_OK;
	if (manifest->has_mrl_dim && manifest->mrl_dim == 0)
		return invalid(error, "an mrl_dim above 0", "0");
	if (!manifest->has_mrl_dim || !manifest->has_full_dim)
		return invalid(error, "mrl_dim and full_dim together", "one of them");
	if (manifest->mrl_dim > manifest->full_dim)
		return invalid(error, "an mrl_dim up to full_dim", "a larger one");
	if (manifest->mrl_dim != manifest->embedding_dim)
		return invalid(error, "an mrl_dim equal to embedding_dim", "another one");
	if (manifest->vector_type == LW_VECTOR_INT4 && manifest->mrl_dim % LW_INT4_BLOCK != 0)
		return invalid(error, "an mrl_dim divisible by 64 for int4", "another one");
	return LW_OK;
}

LwStatus
lw_section_manifest_check(LwSectionManifest *manifest, LwError *error)
{
	bool		exact_rerank = is(manifest->rerank_policy, "exact");
	LwStatus	status;

	if (manifest->format_version > SUPPORTED_VERSION)
		return lw_fail(error, LW_MALFORMED, "UnsupportedFormatVersion", -1, "a format_version up to 1",
					   "%u", manifest->format_version);
	if (manifest->schema_version > SUPPORTED_VERSION)
		return lw_fail(error, LW_MALFORMED, "UnsupportedSchemaVersion", -1, "a schema_version up to 1",
					   "%u", manifest->schema_version);
	if (manifest->embedding_model.size == 0)
		return invalid(error, "the name of an embedding_model", "an empty string");
	if (manifest->embedding_dim == 0)
		return invalid(error, "an embedding_dim above 0", "0");
	if (manifest->n_chunks == 0)
		return invalid(error, "n_chunks above 0", "0");
	if (manifest->chunker_version.size == 0)
		return invalid(error, "a chunker_version", "an empty string");
	status = check_values(manifest, error);
	if (status != LW_OK)
		return status;
	if (manifest->index != LW_INDEX_EXACT && !exact_rerank)
		return invalid(error, "rerank_policy exact for an index", "none");
	if (!manifest->supports_exact)
		return invalid(error, "supports_exact", "false");
	if (!manifest->supports_reproducible_build)
		return invalid(error, "supports_reproducible_build", "false");
	if (manifest->index == LW_INDEX_HNSW && !manifest->supports_ann)
		return invalid(error, "supports_ann for index_type hnsw", "false");
	if (manifest->index == LW_INDEX_HYBRID && !manifest->supports_bm25)
		return invalid(error, "supports_bm25 for index_type hybrid", "false");
	return check_truncation(manifest, error);
}

static const char *const contract_keys[] = {
	"metric", "score_type", "normalize", "index_type", "rerank_policy"
};
static const char *const contract_errors[] = {
	"UnsupportedMetric", "UnsupportedScoreType", "UnsupportedNormalize", "UnsupportedIndexType",
	"UnsupportedRerankPolicy"
};

#define CONTRACT_KEYS 5

typedef struct Contract
{
	LwBytes		values[CONTRACT_KEYS];
	char	   *free;
} Contract;

static bool
read_contract(void *arg, LwJson *reader, LwJsonToken token, int key)
{
	Contract   *contract = arg;
	LwBytes    *value = &contract->values[key];

	if (token != LW_JSON_STRING)
		return lw_record_refuse(reader, "not a string");
	if (!lw_json_decode(reader, contract->free, &value->size))
		return false;
	value->data = (uint8_t *) contract->free;
	contract->free += value->size;
	return true;
}

static LwStatus
compare_contract(const Contract *contract, const LwSectionManifest *manifest, LwError *error)
{
	const LwBytes wanted[CONTRACT_KEYS] = {
		manifest->metric, manifest->score_type, manifest->normalize, manifest->index_type,
		manifest->rerank_policy
	};
	int			i;

	for (i = 0; i < CONTRACT_KEYS; i++)
		if (!lw_bytes_equal(contract->values[i], (const char *) wanted[i].data, wanted[i].size))
			return lw_section_bad_string(error, LW_MALFORMED, contract_errors[i], "in section 0x06 what the manifest says",
										 contract_keys[i], contract->values[i]);
	return LW_OK;
}

LwStatus
lw_section_contract_check(LwBytes payload, const LwSectionManifest *manifest, LwError *error)
{
	LwRecordShape shape = {contract_keys, CONTRACT_KEYS, true, read_contract, NULL};
	LwFramed	framed;
	Contract	contract;
	LwJson		reader;
	char	   *memory;
	uint32_t	seen;
	LwStatus	status;

	status = lw_framed_begin(payload, LW_SECTION_CONTRACT, &framed, error);
	if (status != LW_OK)
		return status;
	memory = malloc(framed.json.size + 1);
	if (memory == NULL)
		return lw_fail_errno(error, ENOMEM, "read the search contract of");
	contract.free = memory;
	lw_json_init(&reader, framed.json.data, framed.json.size);
	if (lw_record_read(&shape, &reader, lw_json_next(&reader), &contract.free, &contract, &seen) &&
		(seen == (UINT32_C(1) << CONTRACT_KEYS) - 1 || lw_record_refuse(&reader, "a missing key")) &&
		lw_json_next(&reader) == LW_JSON_END)
	{
		status = lw_framed_end(&framed, error);
		if (status == LW_OK)
			status = compare_contract(&contract, manifest, error);
	}
	else
		status = lw_framed_bad_json(&framed, &reader, error);
	free(memory);
	return status;
}
