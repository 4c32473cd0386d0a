/*-------------------------------------------------------------------------
 *
 * validate.c
 *	  What an operator class of the access method must be.
 *
 * It has one operator, id @# maxsim_query, by which rows are ordered, and no
 * support functions.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/amvalidate.h"
#include "access/htup_details.h"
#include "catalog/pg_amop.h"
#include "catalog/pg_amproc.h"
#include "catalog/pg_opclass.h"
#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/catcache.h"
#include "utils/lsyscache.h"
#include "utils/regproc.h"
#include "utils/syscache.h"

#include "am/index.h"

/* Types whose text form names a document, as lw_id_from_datum knows them. */
static const Oid id_types[] = {TEXTOID, VARCHAROID, UUIDOID, INT2OID, INT4OID, INT8OID};

static bool
is_id_type(Oid type)
{
	int			i;

	for (i = 0; i < (int) lengthof(id_types); i++)
		if (id_types[i] == type)
			return true;
	return false;
}

static bool
check_operator(Form_pg_amop member, const char *opclass)
{
	const char *name = format_operator(member->amopopr);
	bool		good = true;

	if (member->amopstrategy != LW_STRATEGY_DISTANCE)
	{
		ereport(INFO,
				(errcode(ERRCODE_INVALID_OBJECT_DEFINITION),
				 errmsg("operator class \"%s\" of access method %s contains operator %s with invalid strategy number %d",
						opclass, "lateweave", name, member->amopstrategy)));
		good = false;
	}
	if (member->amoppurpose != AMOP_ORDER || !opfamily_can_sort_type(member->amopsortfamily, FLOAT8OID))
	{
		ereport(INFO,
				(errcode(ERRCODE_INVALID_OBJECT_DEFINITION),
				 errmsg("operator class \"%s\" of access method %s contains invalid ORDER BY specification for operator %s",
						opclass, "lateweave", name)));
		good = false;
	}
	if (!is_id_type(member->amoplefttype))
	{
		ereport(INFO,
				(errcode(ERRCODE_INVALID_OBJECT_DEFINITION),
				 errmsg("operator class \"%s\" of access method %s contains operator %s for type %s, which names no documents",
						opclass, "lateweave", name, format_type_be(member->amoplefttype))));
		good = false;
	}
	if (!check_amop_signature(member->amopopr, FLOAT8OID, member->amoplefttype, member->amoprighttype))
	{
		ereport(INFO,
				(errcode(ERRCODE_INVALID_OBJECT_DEFINITION),
				 errmsg("operator class \"%s\" of access method %s contains operator %s with wrong signature",
						opclass, "lateweave", name)));
		good = false;
	}
	return good;
}

bool
lw_index_validate(Oid opclass)
{
	HeapTuple	tuple = SearchSysCache1(CLAOID, ObjectIdGetDatum(opclass));
	Form_pg_opclass form;
	char	   *name;
	CatCList   *operators;
	CatCList   *functions;
	bool		own = false;
	bool		good = true;
	int			i;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for operator class %u", opclass);
	form = (Form_pg_opclass) GETSTRUCT(tuple);
	name = NameStr(form->opcname);
	operators = SearchSysCacheList1(AMOPSTRATEGY, ObjectIdGetDatum(form->opcfamily));
	functions = SearchSysCacheList1(AMPROCNUM, ObjectIdGetDatum(form->opcfamily));

	if (OidIsValid(form->opckeytype) && form->opckeytype != form->opcintype)
	{
		ereport(INFO,
				(errcode(ERRCODE_INVALID_OBJECT_DEFINITION),
				 errmsg("operator class \"%s\" of access method %s has another storage type than its ids",
						name, "lateweave")));
		good = false;
	}
	for (i = 0; i < operators->n_members; i++)
	{
		Form_pg_amop member = (Form_pg_amop) GETSTRUCT(&operators->members[i]->tuple);

		good &= check_operator(member, name);
		own |= member->amoplefttype == form->opcintype;
	}
	for (i = 0; i < functions->n_members; i++)
	{
		Form_pg_amproc member = (Form_pg_amproc) GETSTRUCT(&functions->members[i]->tuple);

		ereport(INFO,
				(errcode(ERRCODE_INVALID_OBJECT_DEFINITION),
				 errmsg("operator class \"%s\" of access method %s contains support function %s with invalid support number %d",
						name, "lateweave", format_procedure(member->amproc), member->amprocnum)));
		good = false;
	}
	if (!own)
	{
		ereport(INFO,
				(errcode(ERRCODE_INVALID_OBJECT_DEFINITION),
				 errmsg("operator class \"%s\" of access method %s is missing an operator of its type",
						name, "lateweave")));
		good = false;
	}

	ReleaseCatCacheList(functions);
	ReleaseCatCacheList(operators);
	ReleaseSysCache(tuple);
	return good;
}
