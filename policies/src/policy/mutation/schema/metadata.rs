//! The metadata that every object has. Its schema is Kubernetes' own, not part of any definition.

use std::collections::BTreeMap;

use super::{By, DEDUCED, Field, List, Map, Ref, Scalar, Schema, Type};

impl Schema {
    pub(super) fn metadata(&mut self) -> Ref {
        let texts = self.scalars(Scalar::Text);
        let owner = {
            let mut fields = self.fields(&["apiVersion", "kind", "name", "uid"], Scalar::Text);
            fields.extend(self.fields(&["blockOwnerDeletion", "controller"], Scalar::Bool));
            self.map(fields, true)
        };
        let manager = {
            let names = ["apiVersion", "fieldsType", "manager", "operation", "subresource"];
            let mut fields = self.fields(&names, Scalar::Text);
            fields.extend(self.fields(&["time"], Scalar::Any));
            fields.insert("fieldsV1".to_owned(), Field { of: self.anything(), default: None });
            self.map(fields, false)
        };
        let finalizer = self.add(Type::scalar(Scalar::Text));
        let names = ["generateName", "name", "namespace", "resourceVersion", "selfLink", "uid"];
        let mut fields = self.fields(&names, Scalar::Text);
        fields.extend(self.fields(&["deletionGracePeriodSeconds", "generation"], Scalar::Number));
        // Times are checked as times elsewhere; here they are just one value.
        fields.extend(self.fields(&["creationTimestamp", "deletionTimestamp"], Scalar::Any));
        let lists = [
            ("finalizers", finalizer, By::Value),
            ("managedFields", manager, By::Place),
            ("ownerReferences", owner, By::Keys(vec!["uid".to_owned()])),
        ];
        for (name, items, by) in lists {
            let of = self.add(Type { list: Some(List { items, by }), ..Type::default() });
            fields.insert(name.to_owned(), Field { of, default: None });
        }
        for name in ["annotations", "labels"] {
            fields.insert(name.to_owned(), Field { of: texts, default: None });
        }
        self.map(fields, false)
    }

    fn fields(&mut self, names: &[&str], scalar: Scalar) -> BTreeMap<String, Field> {
        let of = self.add(Type::scalar(scalar));
        names.iter().map(|name| ((*name).to_owned(), Field { of, default: None })).collect()
    }

    fn map(&mut self, fields: BTreeMap<String, Field>, atomic: bool) -> Ref {
        self.add(Type { map: Some(Map { fields, others: None, atomic }), ..Type::default() })
    }

    fn scalars(&mut self, scalar: Scalar) -> Ref {
        let of = self.add(Type::scalar(scalar));
        self.add(Type { map: Some(Map { others: Some(of), ..Map::default() }), ..Type::default() })
    }

    fn anything(&mut self) -> Ref {
        self.add(Type { map: Some(Map { others: Some(DEDUCED), ..Map::default() }), ..Type::default() })
    }
}
