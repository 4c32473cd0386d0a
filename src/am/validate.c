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
complain(const char *opclass, const char *object, const char *what)
{
	ereport(INFO,
			(errcode(ERRCODE_INVALID_OBJECT_DEFINITION),
			 errmsg("operator class \"%s\" of access method lateweave: %s %s", opclass, object, what)));
	return false;
}

static bool
check_operator(Form_pg_amop member, const char *opclass)
{
	const char *name = format_operator(member->amopopr);
	bool		good = true;

	if (member->amopstrategy != LW_STRATEGY_DISTANCE)
		good = complain(opclass, name, "has an unknown strategy");
	if (member->amoppurpose != AMOP_ORDER)
		good = complain(opclass, name, "must be FOR ORDER BY");
	else if (!opfamily_can_sort_type(member->amopsortfamily, FLOAT8OID))
		good = complain(opclass, name, "must be ordered by a family of double precision");
	if (!is_id_type(member->amoplefttype))
		good = complain(opclass, name, "takes ids of a type that documents are not named by");
	if (!check_amop_signature(member->amopopr, FLOAT8OID, member->amoplefttype, member->amoprighttype))
		good = complain(opclass, name, "has another signature");
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
		good = complain(name, "its type", "must be stored as it is indexed");
	for (i = 0; i < operators->n_members; i++)
	{
		Form_pg_amop member = (Form_pg_amop) GETSTRUCT(&operators->members[i]->tuple);

		good &= check_operator(member, name);
		own |= member->amoplefttype == form->opcintype;
	}
	for (i = 0; i < functions->n_members; i++)
	{
		Form_pg_amproc member = (Form_pg_amproc) GETSTRUCT(&functions->members[i]->tuple);

		good = complain(name, format_procedure(member->amproc), "cannot be a support function");
	}
	if (!own)
		good = complain(name, "it", "has no operator of its type");

	ReleaseCatCacheList(functions);
	ReleaseCatCacheList(operators);
	ReleaseSysCache(tuple);
	return good;
}
